// The lattice of one direction of one sentence pair: `n` positions that may explain each of `steps` words.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "arrays.hpp"
#include "packs.hpp"
#include "simd.hpp"

namespace {

using namespace isogloss;

constexpr float kTiny = 1e-30f;   // the probability of a word that nothing explains
constexpr float kDoubt = 1e-3f;   // how far one direction's certainty can rule out a link of the other

inline i64 padded(i64 n) { return (n + 7) & ~i64{7}; }

// Scratch for one direction of one sentence pair: `n` states, `steps` words to explain. Rows are padded with zeros to
// `stride`; `columns` are `rows` transposed.
struct Lattice {
    i64 n = 0, steps = 0, stride = 0;
    std::vector<float> emission, posterior, alpha, at, reach, rows, columns, start, null_emission, null_posterior;
    std::vector<float> met, began, y, beta, scale, hold, norm;

    void reserve(i64 longest) {
        const i64 m = padded(longest);
        for (auto *square : {&emission, &posterior, &alpha, &at, &reach, &rows, &columns, &met}) square->resize(m * m);
        for (auto *line : {&start, &null_emission, &null_posterior, &began, &y, &beta, &scale, &hold}) line->resize(m);
        norm.resize(m + 1);
    }
    void shape(i64 states, i64 words) {
        n = states;
        steps = words;
        stride = padded(states);
    }
};

// A product of many probabilities as a logarithm, taken now and then.
class LogProduct {
  public:
    void multiply(double factor) {
        product_ *= factor;
        if (product_ < 1e-200) flush();
    }
    double log() {
        flush();
        return sum_;
    }

  private:
    void flush() {
        sum_ += std::log(product_);
        product_ = 1;
    }
    double sum_ = 0, product_ = 1;
};

// Before word j the chain is `at` some position; it goes on by `rows` and explains the word, or NULL does and it stays.
ISOGLOSS_CLONES
double go_forward(Lattice &l, float null) {
    const i64 n = l.n, st = l.stride, steps = l.steps;
    float *__restrict y = l.y.data();
    LogProduct likelihood;
    std::copy_n(l.start.data(), st, l.at.data());
    for (i64 j = 0; j < steps; ++j) {
        float *__restrict at = l.at.data() + j * st, *__restrict word = l.alpha.data() + j * st;
        const float *__restrict e = l.emission.data() + j * st;
        const float from_null = null * l.null_emission[j];
        if (j == 0)
            std::copy_n(at, st, y);
        else
            product(at, st, 1, 1, l.rows.data(), n, st, y, false);
        float sum = 0, still = 0;
#pragma omp simd reduction(+ : sum, still)
        for (i64 i = 0; i < st; ++i) {
            word[i] = (1 - null) * y[i] * e[i];
            sum += word[i];
            still += at[i];
        }
        sum += from_null * still;
        const bool unexplained = !(sum > kTiny);
        l.scale[j] = unexplained ? 0 : 1 / sum;
        l.hold[j] = unexplained ? 1 : from_null * l.scale[j];
        likelihood.multiply(unexplained ? kTiny : sum);
        for (i64 i = 0; i < st; ++i) word[i] *= l.scale[j];
        if (j + 1 < steps)
            for (i64 i = 0; i < st; ++i) at[st + i] = word[i] + l.hold[j] * at[i];
    }
    return likelihood.log();
}

// Posteriors; and for jumps what `met` at both ends of each, to be multiplied with its probability.
ISOGLOSS_CLONES
void go_backward(Lattice &l, float null, bool jumps) {
    const i64 n = l.n, st = l.stride;
    float *__restrict y = l.y.data(), *__restrict beta = l.beta.data();
    std::fill_n(beta, st, 1.0f);
    for (i64 j = l.steps - 1; j >= 0; --j) {
        const float *__restrict word = l.alpha.data() + j * st, *__restrict at = l.at.data() + j * st;
        const float *__restrict e = l.emission.data() + j * st;
        float *__restrict g = l.posterior.data() + j * st, *__restrict reach = l.reach.data() + j * st;
        const float into = (1 - null) * l.scale[j], hold = l.hold[j];
        float nothing = 0;
#pragma omp simd reduction(+ : nothing)
        for (i64 i = 0; i < st; ++i) {
            g[i] = word[i] * beta[i];
            nothing += at[i] * beta[i];
            reach[i] = into * e[i] * beta[i];
        }
        l.null_posterior[j] = hold * nothing;
        if (j == 0) break;
        product(reach, st, 1, 1, l.columns.data(), n, st, y, false);
        for (i64 i = 0; i < st; ++i) beta[i] = y[i] + hold * beta[i];
    }
    if (!jumps) return;
    for (i64 i = 0; i < st; ++i) l.began[i] = l.posterior[i] + l.hold[0] * l.at[i] * beta[i];
    product(l.at.data() + st, 1, st, n, l.reach.data() + st, l.steps - 1, st, l.met.data(), false);
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
ISOGLOSS_CLONES
double independent(Lattice &l, float null, const float *table, i64 state_step, i64 step_step) {
    if (null < 0) null = 1 / static_cast<float>(l.n + 1);
    const float even = (1 - null) / static_cast<float>(l.n);
    LogProduct likelihood;
    for (i64 j = 0; j < l.steps; ++j) {
        float *__restrict g = l.posterior.data() + j * l.stride;
        const float *__restrict e = l.emission.data() + j * l.stride, from_null = null * l.null_emission[j];
        float sum = 0;
        if (table)
            for (i64 i = 0; i < l.n; ++i) sum += g[i] = (1 - null) * table[i * state_step + j * step_step] * e[i];
        else
#pragma omp simd reduction(+ : sum)
            for (i64 i = 0; i < l.stride; ++i) sum += g[i] = even * e[i];
        sum += from_null;
        const bool unexplained = !(sum > kTiny);
        const float scale = unexplained ? 0 : 1 / sum;
        likelihood.multiply(unexplained ? kTiny : sum);
        for (i64 i = 0; i < l.n; ++i) g[i] *= scale;
        l.null_posterior[j] = unexplained ? 1 : from_null * scale;
    }
    return likelihood.log();
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
