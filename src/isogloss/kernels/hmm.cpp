// Hidden Markov chains over symbols: forward-backward in scaled space and best paths, for many sequences.
//
// Sequences of like length run side by side, up to kLanes at a time, so that each step is a small matrix product.
// Sums are taken in blocks that depend on the data alone and added in their order, so results do not depend on the
// number of threads.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "chain.hpp"
#include "simd.hpp"
#include "threads.hpp"

namespace {

using namespace isogloss;

constexpr i64 kLanes = 8;
constexpr i64 kRows = 64;                  // rows of one product of expected transitions
constexpr i64 kRoom = i64{1} << 22;        // doubles a group of several sequences may hold
constexpr double kImpossible = 1e-300;     // a step less likely than this ends the sequence
constexpr double kFlush = 1e-100;          // when a running product of scales turns into a logarithm

// Sequences by falling length, cut into groups that run side by side.
struct Groups {
    std::vector<i64> order, first;

    Groups(const Text &text, i64 stride) : order(text.sequences), first{0} {
        std::iota(order.begin(), order.end(), i64{0});
        std::stable_sort(order.begin(), order.end(), [&](i64 a, i64 b) { return text.length(a) > text.length(b); });
        while (first.back() < text.sequences) {
            const i64 begin = first.back(), row = text.length(order[begin]) * stride;
            const i64 lanes = std::max<i64>(1, std::min(kLanes, kRoom / row));
            first.push_back(std::min(begin + lanes, text.sequences));
        }
    }
    i64 size() const { return static_cast<i64>(first.size()) - 1; }
};

struct Counts {
    std::vector<double> start, crossed, emission;
    explicit Counts(const Chain &c) : start(c.stride), crossed(c.states * c.stride), emission(c.symbols * c.stride) {}
    void clear() {
        for (auto *table : {&start, &crossed, &emission}) std::fill(table->begin(), table->end(), 0.0);
    }
    void add(const Counts &other) {
        add_to(start, other.start);
        add_to(crossed, other.crossed);
        add_to(emission, other.emission);
    }

  private:
    static void add_to(std::vector<double> &to, const std::vector<double> &from) {
        for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
    }
};

// One group at work. Rows of alpha are in order of time, then lane.
struct Group {
    i64 lanes = 0, longest = 0;
    i64 begin[kLanes], length[kLanes], sequence[kLanes];
    std::vector<double> alpha, scale, beta, carried, known;

    void take(const Text &text, const i64 *members, i64 count, const Chain &c, bool keep) {
        lanes = count;
        for (i64 l = 0; l < count; ++l) {
            sequence[l] = members[l];
            begin[l] = text.offsets[members[l]];
            length[l] = text.length(members[l]);
        }
        longest = length[0];
        const std::size_t rows = (keep ? longest : 2) * lanes;
        if (alpha.size() < rows * c.stride) alpha.resize(rows * c.stride);
        if (scale.size() < static_cast<std::size_t>(longest * lanes)) scale.resize(longest * lanes);
        beta.resize(kLanes * c.stride);
        carried.resize((kRows + kLanes) * c.stride);
        known.resize(c.stride);
    }
    i64 active(i64 t) const {
        i64 n = lanes;
        while (n > 0 && length[n - 1] <= t) --n;
        return n;
    }
    // What the symbol at a place says about the state.
    const double *evidence(const Text &text, const Chain &c, i64 place) {
        const i32 code = text.codes[place], label = text.labels ? text.labels[place] : -1;
        const double *row = code < 0 ? c.unknown.data() : c.emission.data() + code * c.stride;
        if (label < 0) return row;
        std::fill(known.begin(), known.end(), 0.0);
        known[label] = row[label];
        return known.data();
    }
};

ISOGLOSS_INLINE double scale_row(double *row, const double *evidence, i64 stride) {
    Pack sum = Pack{};
    for (i64 k = 0; k < stride; k += kPack) {
        const Pack value = load(row + k) * load(evidence + k);
        store(row + k, value);
        sum += value;
    }
    const double total = sum_of(sum), inverse = total > kImpossible ? 1 / total : 0.0;
    for (i64 k = 0; k < stride; k += kPack) store(row + k, load(row + k) * inverse);
    return total;
}

ISOGLOSS_INLINE void forward_rows(const Chain &c, const Text &text, Group &g, bool keep, double *log_likelihood) {
    double running[kLanes], logs[kLanes];
    std::fill_n(running, kLanes, 1.0);
    std::fill_n(logs, kLanes, 0.0);
    for (i64 t = 0; t < g.longest; ++t) {
        const i64 active = g.active(t);
        double *now = g.alpha.data() + (keep ? t : t & 1) * g.lanes * c.stride;
        const double *before = g.alpha.data() + (keep ? t - 1 : (t - 1) & 1) * g.lanes * c.stride;
        if (t == 0)
            for (i64 l = 0; l < active; ++l) std::copy(c.start.begin(), c.start.end(), now + l * c.stride);
        else
            product(before, c.stride, 1, active, c.forward.data(), c.states, c.stride, now, false);
        for (i64 l = 0; l < active; ++l) {
            const double total =
                scale_row(now + l * c.stride, g.evidence(text, c, g.begin[l] + t), c.stride);
            g.scale[t * g.lanes + l] = total > kImpossible ? 1 / total : 0.0;
            if (total < kFlush || running[l] < kFlush) {
                logs[l] += std::log(running[l]) + (total > kImpossible ? std::log(total) : -INFINITY);
                running[l] = 1;
            } else {
                running[l] *= total;
            }
        }
        if (keep) std::fill(now + active * c.stride, now + g.lanes * c.stride, 0.0);
    }
    for (i64 l = 0; l < g.lanes; ++l) log_likelihood[g.sequence[l]] = logs[l] + std::log(running[l]);
}

// Posteriors of a step: added to the counts, or written out.
ISOGLOSS_INLINE void settle(const Chain &c, const Text &text, const double *alpha, const double *beta, i64 place,
                            Counts *counts, double *posterior) {
    if (posterior) {
        for (i64 k = 0; k < c.states; ++k) posterior[place * c.states + k] = alpha[k] * beta[k];
        return;
    }
    if (text.codes[place] < 0) return;
    double *to = counts->emission.data() + text.codes[place] * c.stride;
    for (i64 k = 0; k < c.stride; k += kPack)
        store(to + k, load(to + k) + load(alpha + k) * load(beta + k));
}

ISOGLOSS_INLINE void backward_rows(const Chain &c, const Text &text, Group &g, const double *weights, Counts *counts,
                                   double *posterior) {
    const i64 st = c.stride, block = std::max<i64>(1, kRows / g.lanes);
    double *beta = g.beta.data();
    i64 filled = 0;
    for (i64 t = g.longest - 1; t >= 0; --t) {
        const i64 active = g.active(t);
        const double *alpha = g.alpha.data() + t * g.lanes * st;
        double *carried = g.carried.data() + (block - 1 - filled) * g.lanes * st;
        std::fill(carried + active * st, carried + g.lanes * st, 0.0);
        for (i64 l = 0; l < active; ++l) {
            double *b = beta + l * st;
            if (g.length[l] == t + 1) std::fill_n(b, st, weights ? weights[g.sequence[l]] : 1.0);
            const i64 place = g.begin[l] + t;
            settle(c, text, alpha + l * st, b, place, counts, posterior);
            const double *e = g.evidence(text, c, place), scale = g.scale[t * g.lanes + l];
            for (i64 k = 0; k < st; k += kPack)
                store(carried + l * st + k, load(b + k) * load(e + k) * scale);
        }
        if (t == 0) break;
        product(carried, st, 1, active, c.backward.data(), c.states, st, beta, false);
        if (++filled == block || t == 1) {
            if (counts)
                product(alpha - g.lanes * st, 1, st, c.states, carried, filled * g.lanes, st,
                           counts->crossed.data(), true);
            filled = 0;
        }
    }
    if (counts)
        for (i64 l = 0; l < g.lanes; ++l)
            for (i64 k = 0; k < st; ++k) counts->start[k] += g.alpha[l * st + k] * beta[l * st + k];
}

ISOGLOSS_CLONES
void both_ways(const Chain &c, const Text &text, Group &g, const double *weights, Counts *counts, double *posterior,
               double *log_likelihood) {
    const bool keep = counts || posterior;
    forward_rows(c, text, g, keep, log_likelihood);
    if (keep) backward_rows(c, text, g, weights, counts, posterior);
}

void run_group(const Chain &c, const Text &text, const Groups &groups, i64 index, Group &g, const double *weights,
               Counts *counts, double *posterior, double *log_likelihood) {
    const i64 from = groups.first[index];
    g.take(text, groups.order.data() + from, groups.first[index + 1] - from, c, counts || posterior);
    both_ways(c, text, g, weights, counts, posterior, log_likelihood);
}

// Groups cut into blocks of about as many tokens each; few blocks where adding their counts would cost much.
std::vector<i64> blocks_of(const Chain &c, const Text &text, const Groups &groups) {
    const i64 wanted = std::clamp<i64>(text.tokens() * c.states / (8 * (c.symbols + c.states)), 1, 64);
    std::vector<i64> first{0};
    i64 seen = 0;
    for (i64 g = 0; g < groups.size(); ++g) {
        for (i64 s = groups.first[g]; s < groups.first[g + 1]; ++s) seen += text.length(groups.order[s]);
        if (seen * wanted >= static_cast<i64>(first.size()) * text.tokens()) first.push_back(g + 1);
    }
    return first;
}

void hmm_expect(In<i32> codes, In<i32> labels, In<i64> offsets, In<double> weights, In<double> start,
                In2<double> transition, In2<double> emission, int threads, Out<double> start_counts,
                Out2<double> transition_counts, Out2<double> emission_counts, Out<double> log_likelihood) {
    const Chain c(start, transition, emission);
    const Text text(codes, labels, offsets, c);
    const auto sequences = static_cast<std::size_t>(text.sequences);
    if (weights.shape(0) != sequences || log_likelihood.shape(0) != sequences ||
        start_counts.shape(0) != start.shape(0) || transition_counts.shape(0) != start.shape(0) ||
        transition_counts.shape(1) != start.shape(0) || emission_counts.shape(0) != emission.shape(0) ||
        emission_counts.shape(1) != start.shape(0))
        throw std::invalid_argument("weights or what is written into has the wrong shape");
    nb::gil_scoped_release release;
    const Groups groups(text, c.stride);
    const std::vector<i64> blocks = blocks_of(c, text, groups);
    const i64 n = static_cast<i64>(blocks.size()) - 1;
    Counts total(c);
    std::atomic<i64> next{0}, turn{0};
    run_team(static_cast<int>(std::clamp<i64>(threads, 1, std::max<i64>(n, 1))), [&](int) {
        Group g;
        Counts counts(c);
        for (i64 b; (b = next.fetch_add(1)) < n;) {
            counts.clear();
            for (i64 i = blocks[b]; i < blocks[b + 1]; ++i)
                run_group(c, text, groups, i, g, weights.data(), &counts, nullptr, log_likelihood.data());
            while (turn.load() != b) std::this_thread::yield();
            total.add(counts);
            turn.store(b + 1);
        }
    });
    for (i64 i = 0; i < c.states; ++i) {
        start_counts.data()[i] = total.start[i];
        for (i64 j = 0; j < c.states; ++j)
            transition_counts.data()[i * c.states + j] = total.crossed[i * c.stride + j] * c.forward[i * c.stride + j];
    }
    for (i64 v = 0; v < c.symbols; ++v)
        std::copy_n(total.emission.begin() + v * c.stride, c.states, emission_counts.data() + v * c.states);
}

template <class Body>
void over(i64 count, int threads, Body &&body) {
    std::atomic<i64> next{0};
    run_team(static_cast<int>(std::clamp<i64>(threads, 1, std::max<i64>(count, 1))), [&](int) {
        body([&](i64 &i) { return (i = next.fetch_add(1)) < count; });
    });
}

// Posteriors of the states at every place, or, with an empty array for them, log-likelihoods alone.
void hmm_posteriors(In<i32> codes, In<i32> labels, In<i64> offsets, In<double> start, In2<double> transition,
                    In2<double> emission, int threads, Out2<double> posterior, Out<double> log_likelihood) {
    const Chain c(start, transition, emission);
    const Text text(codes, labels, offsets, c);
    const bool wanted = posterior.shape(0) > 0;
    if (static_cast<i64>(log_likelihood.shape(0)) != text.sequences ||
        (wanted && (posterior.shape(0) != codes.shape(0) || posterior.shape(1) != start.shape(0))))
        throw std::invalid_argument("what is written into has the wrong shape");
    nb::gil_scoped_release release;
    const Groups groups(text, c.stride);
    over(groups.size(), threads, [&](auto &&more) {
        Group g;
        for (i64 i; more(i);)
            run_group(c, text, groups, i, g, nullptr, nullptr, wanted ? posterior.data() : nullptr,
                      log_likelihood.data());
    });
}

ISOGLOSS_CLONES
void reach(const double *__restrict from, const double *__restrict transition, i64 states, i64 stride,
           double *__restrict best, double *__restrict origin) {
    for (i64 k = 0; k < stride; ++k) {
        best[k] = from[0] + transition[k];
        origin[k] = 0;
    }
    for (i64 i = 1; i < states; ++i) {
        const double step = from[i], name = static_cast<double>(i), *__restrict row = transition + i * stride;
        for (i64 k = 0; k < stride; ++k) {
            const double value = step + row[k];
            const bool better = value > best[k];
            best[k] = better ? value : best[k];
            origin[k] = better ? name : origin[k];
        }
    }
}

// The best path of one sequence, in log space; of equal ones the one through the lowest states at its end.
double best_path(const Chain &logs, const Text &text, i64 s, std::vector<i32> &origins, i32 *path) {
    const i64 n = text.length(s), st = logs.stride, first = text.offsets[s];
    std::vector<double> now(st), next(st), origin(st);
    if (origins.size() < static_cast<std::size_t>(n * st)) origins.resize(n * st);
    for (i64 t = 0; t < n; ++t) {
        if (t == 0)
            next = logs.start;
        else
            reach(now.data(), logs.forward.data(), logs.states, st, next.data(), origin.data());
        const i32 code = text.codes[first + t], label = text.labels ? text.labels[first + t] : -1;
        for (i64 k = 0; k < logs.states; ++k) {
            origins[t * st + k] = static_cast<i32>(origin[k]);
            if (code >= 0) next[k] += logs.emission[code * st + k];
            if (label >= 0 && label != k) next[k] = -INFINITY;
        }
        now.swap(next);
    }
    i64 state = std::max_element(now.begin(), now.begin() + logs.states) - now.begin();
    const double best = now[state];
    for (i64 t = n - 1; t >= 0; --t) {
        path[first + t] = static_cast<i32>(state);
        state = origins[t * st + state];
    }
    return best;
}

void hmm_best_paths(In<i32> codes, In<i32> labels, In<i64> offsets, In<double> start, In2<double> transition,
                    In2<double> emission, int threads, Out<i32> path, Out<double> log_probability) {
    Chain logs(start, transition, emission);
    const Text text(codes, labels, offsets, logs);
    if (path.shape(0) != codes.shape(0) || static_cast<i64>(log_probability.shape(0)) != text.sequences)
        throw std::invalid_argument("what is written into has the wrong shape");
    nb::gil_scoped_release release;
    for (auto *table : {&logs.start, &logs.forward, &logs.emission})
        for (double &value : *table) value = std::log(value);
    over(text.sequences, threads, [&](auto &&more) {
        std::vector<i32> origins;
        for (i64 s; more(s);) log_probability.data()[s] = best_path(logs, text, s, origins, path.data());
    });
}

}  // namespace

void bind_hmm(nb::module_ &m) {
    m.def("hmm_expect", &hmm_expect, nb::arg("codes"), nb::arg("labels"), nb::arg("offsets"), nb::arg("weights"),
          nb::arg("start"), nb::arg("transition"), nb::arg("emission"), nb::arg("threads"),
          nb::arg("start_counts").noconvert(), nb::arg("transition_counts").noconvert(),
          nb::arg("emission_counts").noconvert(), nb::arg("log_likelihood").noconvert());
    m.def("hmm_posteriors", &hmm_posteriors, nb::arg("codes"), nb::arg("labels"), nb::arg("offsets"),
          nb::arg("start"), nb::arg("transition"), nb::arg("emission"), nb::arg("threads"),
          nb::arg("posterior").noconvert(), nb::arg("log_likelihood").noconvert());
    m.def("hmm_best_paths", &hmm_best_paths, nb::arg("codes"), nb::arg("labels"), nb::arg("offsets"),
          nb::arg("start"), nb::arg("transition"), nb::arg("emission"), nb::arg("threads"),
          nb::arg("path").noconvert(), nb::arg("log_probability").noconvert());
}
