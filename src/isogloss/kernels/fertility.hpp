// What a sentence pair is under IBM Models 3, 4 and 5, and what is found in it.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "arrays.hpp"

namespace {

using namespace isogloss;
using u64 = std::uint64_t;

constexpr i64 kLongest = 126;       // the most words of a sentence: vacancies are kept in 128 bits
constexpr double kUnknown = -69.0;  // log-probability of a pair that is not in the table
constexpr double kSlack = 1e-9;     // a gain that rounding may feign
constexpr double kNeglect = -18.0;  // neighbours this much less likely than the best alignment are left out
constexpr double kMost = 2e6;       // alignments of a sentence pair that are enumerated at most
constexpr double kNever = -std::numeric_limits<double>::infinity();

enum Mode { kGiven = 0, kNeighbours = 1, kAll = 2 };

inline int ones(u64 bits) {
#if defined(__GNUC__)
    return __builtin_popcountll(bits);
#else
    int n = 0;
    for (; bits; bits &= bits - 1) ++n;
    return n;
#endif
}

// Places 1 .. J, each vacant or taken.
struct Vacancies {
    u64 words[2];

    explicit Vacancies(i64 n) {
        words[0] = n >= 63 ? ~u64{1} : (u64{2} << n) - 2;
        words[1] = n >= 64 ? (u64{2} << (n - 64)) - 1 : 0;
    }
    void take(i64 j) { words[j >> 6] &= ~(u64{1} << (j & 63)); }
    int until(i64 j) const {
        const u64 low = (u64{2} << (j & 63)) - 1;
        return j < 64 ? ones(words[0] & low) : ones(words[0]) + ones(words[1] & low);
    }
};

// Log-weights of displacements from -reach to reach by context; running sums of the weights for Model 5.
struct Displacement {
    const double *log_weight, *running;
    i64 rows, reach;

    i64 at(i64 row, i64 d) const { return row * (2 * reach + 1) + reach + d; }
    double mass(i64 row, i64 low, i64 high) const {
        const double *r = running + row * (2 * reach + 2) + reach;
        return r[high + 1] - r[low];
    }
};

struct Sums {
    double *links = nullptr;  // pairs x 2
    double *null, *fertility, *places, *heads, *heads_reached, *others, *others_reached, *scalars;
};

struct Task {
    const i32 *from, *to, *slots;
    const i64 *from_offsets, *to_offsets, *cells, *table_offsets;
    i64 sentences;
    int direction, kind;
    Mode mode;
    double log_null, log_rest;
    const float *lexicon, *null;
    const double *fertility;
    i64 most;  // the largest fertility
    const double *places;
    Displacement heads, others;
    const i32 *from_class, *to_class;
    i64 from_classes, to_classes;

    i64 n_from(i64 s) const { return from_offsets[s + 1] - from_offsets[s]; }
    i64 n_to(i64 s) const { return to_offsets[s + 1] - to_offsets[s]; }
    // Where (i, j), counted from zero, lies among the cells of a sentence pair.
    i64 cell(i64 i, i64 j, i64 I, i64 J) const { return direction == 0 ? i * J + j : j * I + i; }
    bool fits(i64 s) const {
        const i64 I = n_from(s), J = n_to(s);
        return I > 0 && J > 0 && std::max(I, J) <= kLongest && J <= 2 * most * I;
    }
};

struct Event {
    i64 at;
    double weight;
};

// What phase one leaves for phase two.
struct Found {
    bool used = false;
    double log_likelihood = 0, null_words = 0, other_words = 0;
    std::vector<double> links, fertility;
    std::vector<Event> heads, heads_reached, others, others_reached;

    void clear(i64 cells, i64 fertilities) {
        used = true;
        null_words = other_words = 0;
        links.assign(cells, 0.0);
        fertility.assign(fertilities, 0.0);
        for (auto *events : {&heads, &heads_reached, &others, &others_reached}) events->clear();
    }
};

// An alignment one move (of a word to another cept) or one swap (of two words) away.
struct Neighbour {
    double gain;
    i64 word, other, home;
    bool swapped;
};

}  // namespace
