// What one direction of an alignment knows of jumps: transitions of a sentence, and sums of expected jumps.
#pragma once
#include <algorithm>
#include <cmath>

#include "arrays.hpp"
#include "lattice.hpp"

namespace {

using namespace isogloss;

// What one direction knows; `words` are those that generate.
struct Side {
    const float *null;             // NULL's lexicon, by generated word
    const float *jumps;            // weights (classes + 1, 2 * reach + 1); the last class is the start
    i64 reach, classes;
    const i32 *class_of;           // by generating word
    const float *table;            // position table, cells (i, j)
    double *null_counts = nullptr, *jump_counts = nullptr, *reached = nullptr, *table_counts = nullptr;
    double *scalars = nullptr;     // jumped, jumped * log norm, drifted, drifted * log n, log-likelihood, NULL
};

// Where the weights of jumps to the positions of a sentence begin, from position i of it or from before it (-1).
i64 jumps_from(const Side &side, const i32 *words, i64 i) {
    const i64 c = i < 0 ? side.classes : side.class_of[words[i]];
    return c * (2 * side.reach + 1) + side.reach - i;
}

// Transition rows (1 - uniform) w[k - i] / Z_i + uniform / n, and the start as a jump from before the first.
ISOGLOSS_CLONES
void fill_transitions(const Side &side, const i32 *words, float uniform, Lattice &l) {
    const float rest = uniform / static_cast<float>(l.n);
    for (i64 k = 0; k < l.n; ++k) std::fill_n(l.columns.data() + k * l.stride + l.n, l.stride - l.n, 0.0f);
    for (i64 i = -1; i < l.n; ++i) {
        const float *__restrict w = side.jumps + jumps_from(side, words, i);
        float *__restrict row = i < 0 ? l.start.data() : l.rows.data() + i * l.stride, sum = 0;
#pragma omp simd reduction(+ : sum)
        for (i64 k = 0; k < l.n; ++k) sum += w[k];
        l.norm[i + 1] = sum;
        const float scale = (1 - uniform) / sum;
        for (i64 k = 0; k < l.n; ++k) row[k] = scale * w[k] + rest;
        for (i64 k = l.n; k < l.stride; ++k) row[k] = 0;
        if (i >= 0)
            for (i64 k = 0; k < l.n; ++k) l.columns[k * l.stride + i] = row[k];
    }
}

// Expected jumps of one sentence, from before it and from each position: the part that is not the uniform one. Gives
// the expected number of uniform ones.
ISOGLOSS_CLONES
double share_jumps(const Side &side, const i32 *words, float uniform, const Lattice &l, float *jumped) {
    const float rest = uniform / static_cast<float>(l.n);
    double drifted = 0;
    for (i64 i = -1; i < l.n; ++i, jumped += l.n) {
        const float *__restrict w = side.jumps + jumps_from(side, words, i), scale = (1 - uniform) / l.norm[i + 1];
        const float *__restrict met = l.met.data() + std::max(i, i64{0}) * l.stride, *__restrict began = l.began.data();
        float *__restrict out = jumped, sum = 0;
        if (i < 0)
#pragma omp simd reduction(+ : sum)
            for (i64 k = 0; k < l.n; ++k) {
                const float jump = scale * w[k], both = began[k] / (jump + rest);
                out[k] = both * jump;
                sum += both;
            }
        else
#pragma omp simd reduction(+ : sum)
            for (i64 k = 0; k < l.n; ++k) {
                out[k] = met[k] * (scale * w[k]);
                sum += met[k];
            }
        drifted += rest * sum;
    }
    return drifted;
}

// Adds them up, with what each could have reached over its normaliser; logarithms are for the bound alone.
ISOGLOSS_CLONES
void add_jumps(const Side &side, const i32 *words, i64 n, const float *norm, const float *__restrict jumped,
               double drifted, bool bound) {
    const i64 width = 2 * side.reach + 1;
    for (i64 i = -1; i < n; ++i, jumped += n) {
        const i64 at = jumps_from(side, words, i);
        const i64 c = at / width;  // the class; rows of `reached` have one place more
        double *__restrict count = side.jump_counts + at, *reached = side.reached + at + c, sum = 0;
#pragma omp simd reduction(+ : sum)
        for (i64 k = 0; k < n; ++k) {
            count[k] += jumped[k];
            sum += jumped[k];
        }
        reached[0] += sum / norm[i + 1];
        reached[n] -= sum / norm[i + 1];
        side.scalars[0] += sum;
        if (bound) side.scalars[1] += sum * std::log(static_cast<double>(norm[i + 1]));
    }
    side.scalars[2] += drifted;
    if (bound) side.scalars[3] += drifted * std::log(static_cast<double>(n));
}

}  // namespace
