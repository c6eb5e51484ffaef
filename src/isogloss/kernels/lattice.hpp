// The lattice of one direction of one sentence pair: `n` positions that may explain each of `steps` words.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "arrays.hpp"
#include "simd.hpp"

namespace {

using namespace isogloss;

constexpr float kTiny = 1e-30f;   // the probability of a word that nothing explains
constexpr float kDoubt = 1e-3f;   // how far one direction's certainty can rule out a link of the other

inline i64 padded(i64 n) { return (n + 7) & ~i64{7}; }

// Scratch for one direction of one sentence pair: `n` states, `steps` words to explain.
struct Lattice {
    i64 n = 0, steps = 0, stride = 0;
    std::vector<float> emission, posterior, alpha, rows, start, null_emission, null_posterior, crossed, began;
    std::vector<float> x, y, beta, scale, norm;

    void reserve(i64 longest) {
        const i64 m = padded(longest);
        for (auto *square : {&emission, &posterior, &rows, &crossed}) square->resize(m * m);
        alpha.resize(2 * m * m);
        for (auto *line : {&start, &null_emission, &null_posterior, &began, &x, &y, &beta, &scale}) line->resize(m);
        norm.resize(m + 1);
    }
    void shape(i64 states, i64 words) {
        n = states;
        steps = words;
        stride = padded(states);
    }
};

ISOGLOSS_CLONES
double forward_backward(Lattice &l, float null) {
    const i64 n = l.n, st = l.stride, steps = l.steps;
    float *__restrict x = l.x.data(), *__restrict y = l.y.data(), *__restrict beta = l.beta.data();
    const float *en = l.null_emission.data();
    const float stay = 1 - null;
    double log_likelihood = 0;
    for (i64 j = 0; j < steps; ++j) {
        float *__restrict word = l.alpha.data() + j * 2 * st, *__restrict none = word + st;
        const float *__restrict e = l.emission.data() + j * st;
        const float from_null = null * en[j];
        if (j == 0) {
            for (i64 i = 0; i < st; ++i) y[i] = x[i] = l.start[i];
        } else {
            const float *__restrict before = word - 2 * st;
            for (i64 i = 0; i < st; ++i) {
                x[i] = before[i] + before[st + i];
                y[i] = 0;
            }
            for (i64 i = 0; i < n; ++i) {
                const float xi = x[i], *__restrict row = l.rows.data() + i * st;
                for (i64 k = 0; k < st; ++k) y[k] += xi * row[k];
            }
        }
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (i64 i = 0; i < st; ++i) {
            word[i] = stay * y[i] * e[i];
            none[i] = from_null * x[i];
            sum += word[i] + none[i];
        }
        if (!(sum > kTiny)) {
            for (i64 i = 0; i < st; ++i) {
                word[i] = 0;
                none[i] = kTiny * x[i];
            }
            sum = kTiny;
        }
        const float scale = 1 / sum;
        l.scale[j] = scale;
        log_likelihood += std::log(static_cast<double>(sum));
        for (i64 i = 0; i < 2 * st; ++i) word[i] *= scale;
    }
    std::fill(l.crossed.begin(), l.crossed.begin() + n * st, 0.0f);
    for (i64 i = 0; i < st; ++i) beta[i] = 1;
    for (i64 j = steps - 1; j >= 0; --j) {
        const float *__restrict word = l.alpha.data() + j * 2 * st, *__restrict none = word + st;
        float *__restrict g = l.posterior.data() + j * st;
        float nothing = 0;
#pragma omp simd reduction(+ : nothing)
        for (i64 i = 0; i < st; ++i) {
            g[i] = word[i] * beta[i];
            nothing += none[i] * beta[i];
        }
        l.null_posterior[j] = nothing;
        if (j == 0) {
            for (i64 i = 0; i < st; ++i) l.began[i] = g[i] + none[i] * beta[i];
            break;
        }
        const float *__restrict before = word - 2 * st, *__restrict e = l.emission.data() + j * st;
        const bool unexplained = l.scale[j] * kTiny >= 1;
        const float into = unexplained ? 0 : stay * l.scale[j];
        const float hold = unexplained ? 1 : null * en[j] * l.scale[j];
        for (i64 k = 0; k < st; ++k) y[k] = into * e[k] * beta[k];
        for (i64 i = 0; i < n; ++i) {
            const float *__restrict row = l.rows.data() + i * st;
            float *__restrict c = l.crossed.data() + i * st;
            const float from = before[i] + before[st + i];
            float sum = 0;
#pragma omp simd reduction(+ : sum)
            for (i64 k = 0; k < st; ++k) {
                const float v = row[k] * y[k];
                sum += v;
                c[k] += from * v;
            }
            beta[i] = sum + hold * beta[i];
        }
    }
    return log_likelihood;
}

// The best path of max-product; out[j] is the state of step j, or -1 for NULL.
void best_path(const Lattice &l, float null, i32 *out) {
    const i64 n = l.n, st = l.stride;
    std::vector<double> word(n), none(n), next_word(n), next_none(n);
    std::vector<i32> from_word(n * l.steps), from_none(n * l.steps);
    for (i64 i = 0; i < n; ++i) {
        word[i] = static_cast<double>(l.start[i]) * (1 - null) * l.emission[i];
        none[i] = static_cast<double>(l.start[i]) * null * l.null_emission[0];
    }
    for (i64 j = 1; j < l.steps; ++j) {
        double top = 0;
        for (i64 i = 0; i < n; ++i) top = std::max({top, word[i], none[i]});
        const double scale = top > 0 ? 1 / top : 0;
        for (i64 k = 0; k < n; ++k) {
            double best = -1;
            for (i64 i = 0; i < n; ++i) {
                const double reach = std::max(word[i], none[i]) * l.rows[i * st + k];
                if (reach > best) {
                    best = reach;
                    from_word[j * n + k] = static_cast<i32>(word[i] >= none[i] ? i : n + i);
                }
            }
            from_none[j * n + k] = static_cast<i32>(word[k] >= none[k] ? k : n + k);
            next_word[k] = best * scale * (1 - null) * l.emission[j * st + k];
            next_none[k] = std::max(word[k], none[k]) * scale * null * l.null_emission[j];
        }
        word.swap(next_word);
        none.swap(next_none);
    }
    i64 state = 0;
    for (i64 i = 0; i < 2 * n; ++i)
        if ((i < n ? word[i] : none[i - n]) > (state < n ? word[state] : none[state - n])) state = i;
    for (i64 j = l.steps - 1; j >= 0; --j) {
        out[j] = state < n ? static_cast<i32>(state) : -1;
        if (j > 0) state = state < n ? from_word[j * n + state] : from_none[j * n + state - n];
    }
}

// The best state of each step on its own.
void best_each(const Lattice &l, i32 *out) {
    for (i64 j = 0; j < l.steps; ++j) {
        float best = l.null_posterior[j];
        out[j] = -1;
        for (i64 i = 0; i < l.n; ++i)
            if (l.posterior[j * l.stride + i] > best) {
                best = l.posterior[j * l.stride + i];
                out[j] = static_cast<i32>(i);
            }
    }
}

// Each word on its own: uniform over positions, or by a table whose cell (state, step) is given. With a negative
// chance of NULL, NULL is one more position.
double independent(Lattice &l, float null, const float *table, i64 state_step, i64 step_step) {
    if (null < 0) null = 1 / static_cast<float>(l.n + 1);
    const float even = (1 - null) / static_cast<float>(l.n);
    double log_likelihood = 0;
    for (i64 j = 0; j < l.steps; ++j) {
        float *g = l.posterior.data() + j * l.stride, sum = null * l.null_emission[j];
        const float *e = l.emission.data() + j * l.stride;
        for (i64 i = 0; i < l.n; ++i) {
            const float place = table ? (1 - null) * table[i * state_step + j * step_step] : even;
            sum += g[i] = place * e[i];
        }
        const bool unexplained = !(sum > kTiny);
        const float scale = unexplained ? 0 : 1 / sum;
        log_likelihood += std::log(static_cast<double>(unexplained ? kTiny : sum));
        for (i64 i = 0; i < l.n; ++i) g[i] *= scale;
        l.null_posterior[j] = unexplained ? 1 : null * l.null_emission[j] * scale;
    }
    return log_likelihood;
}

// Let each direction weigh the other's links by its own posterior, NULL by the chance of no link at all.
void weigh(Lattice &mine, const Lattice &other) {
    for (i64 j = 0; j < mine.steps; ++j) {
        float unlinked = 1, *e = mine.emission.data() + j * mine.stride;
        for (i64 i = 0; i < mine.n; ++i) {
            const float p = other.posterior[i * other.stride + j];
            unlinked *= std::max(1 - p, kDoubt);
            e[i] *= p + kDoubt;
        }
        mine.null_emission[j] *= unlinked;
    }
}

}  // namespace
