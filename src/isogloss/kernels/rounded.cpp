// The best targets of every query by inner products of vectors rounded to a byte.
//
// Targets are bytes in [-127, 127], queries bytes in [0, 127] that stand for themselves less 64, so that the sum
// of two products fits 16 bits and pairs can be added there. Both are laid out so that the loop reads them in
// order: dimensions in fours, targets in panels of 16 and queries in panels of 4, the last panel and the last four
// dimensions filled with what adds nothing.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "arrays.hpp"
#include "lists.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define ISOGLOSS_AVX2 __attribute__((target("avx2")))
#endif

namespace nb = nanobind;

namespace {

using namespace isogloss;
using i8 = std::int8_t;
using u8 = std::uint8_t;

constexpr i64 kQueries = 4, kTargets = 16, kQuad = 4;
constexpr i32 kZero = 64;

i64 panels(i64 n, i64 size) { return (n + size - 1) / size; }

// Where the value of a row and a dimension lies among panels of so many rows.
i64 place(i64 row, i64 dimension, i64 quads, i64 size) {
    return ((row / size * quads + dimension / kQuad) * size + row % size) * kQuad + dimension % kQuad;
}

// A panel of targets: its bytes, what the offset of queries adds to their products, what a byte is worth, and
// what is added to a product. A target that is not there scores minus infinity.
struct Panel {
    const i8 *bytes;
    i64 width;
    i32 offset[kTargets] = {};
    float scale[kTargets] = {}, bias[kTargets];

    Panel(const i8 *at, const i32 *sums, const float *scales, const float *added, i64 n) : bytes(at), width(n) {
        std::fill_n(bias, kTargets, -std::numeric_limits<float>::infinity());
        for (i64 j = 0; j < n; ++j) {
            offset[j] = kZero * sums[j];
            scale[j] = scales[j];
            bias[j] = added[j];
        }
    }
};

using Tile = float[kQueries][kTargets];

// Scores of a panel of targets for a panel of queries; whether one of them exceeds the floor of its query.
bool multiply_plain(const u8 *q, const float *worth, const Panel &panel, i64 quads, const float *floors, Tile tile) {
    i32 sums[kQueries][kTargets] = {};
    const i8 *t = panel.bytes;
    for (i64 p = 0; p < quads; ++p, q += kQueries * kQuad, t += kTargets * kQuad)
        for (i64 r = 0; r < kQueries; ++r)
            for (i64 c = 0; c < kTargets; ++c)
                for (i64 d = 0; d < kQuad; ++d)
                    sums[r][c] += static_cast<i32>(q[r * kQuad + d]) * static_cast<i32>(t[c * kQuad + d]);
    bool any = false;
    for (i64 r = 0; r < kQueries; ++r)
        for (i64 c = 0; c < kTargets; ++c) {
            const float product = static_cast<float>(sums[r][c] - panel.offset[c]) * (panel.scale[c] * worth[r]);
            tile[r][c] = product + panel.bias[c];
            any |= tile[r][c] > floors[r];
        }
    return any;
}

#ifdef ISOGLOSS_AVX2
ISOGLOSS_AVX2 inline __m256 score(__m256i sums, const Panel &panel, i64 at, float worth) {
    const __m256i less = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(panel.offset + at));
    const __m256 unit = _mm256_mul_ps(_mm256_loadu_ps(panel.scale + at), _mm256_set1_ps(worth));
    const __m256 product = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(sums, less)), unit);
    return _mm256_add_ps(product, _mm256_loadu_ps(panel.bias + at));
}

ISOGLOSS_AVX2 bool multiply_avx2(const u8 *q, const float *worth, const Panel &panel, i64 quads, const float *floors,
                                 Tile tile) {
    __m256i left[kQueries], right[kQueries];
    const __m256i one = _mm256_set1_epi16(1);
    const i8 *t = panel.bytes;
    for (i64 r = 0; r < kQueries; ++r) left[r] = right[r] = _mm256_setzero_si256();
    for (i64 p = 0; p < quads; ++p, q += kQueries * kQuad, t += kTargets * kQuad) {
        const __m256i near = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(t));
        const __m256i far = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(t + 32));
#pragma GCC unroll 4
        for (i64 r = 0; r < kQueries; ++r) {
            i32 four;
            std::memcpy(&four, q + r * kQuad, sizeof four);
            const __m256i x = _mm256_set1_epi32(four);
            left[r] = _mm256_add_epi32(left[r], _mm256_madd_epi16(_mm256_maddubs_epi16(x, near), one));
            right[r] = _mm256_add_epi32(right[r], _mm256_madd_epi16(_mm256_maddubs_epi16(x, far), one));
        }
    }
    int any = 0;
    for (i64 r = 0; r < kQueries; ++r) {
        const __m256 low = score(left[r], panel, 0, worth[r]), high = score(right[r], panel, 8, worth[r]);
        const __m256 floor = _mm256_set1_ps(floors[r]);
        any |= _mm256_movemask_ps(_mm256_cmp_ps(_mm256_max_ps(low, high), floor, _CMP_GT_OQ));
        _mm256_storeu_ps(tile[r], low);
        _mm256_storeu_ps(tile[r] + 8, high);
    }
    return any != 0;
}
#endif

using Multiply = bool (*)(const u8 *, const float *, const Panel &, i64, const float *, Tile);

Multiply fastest() {
#ifdef ISOGLOSS_AVX2
    if (__builtin_cpu_supports("avx2")) return multiply_avx2;
#endif
    return multiply_plain;
}

template <class T>
void pack(In2<T> values, Out<T> packed, i64 size) {
    const i64 n = static_cast<i64>(values.shape(0)), d = static_cast<i64>(values.shape(1)), quads = panels(d, kQuad);
    if (static_cast<i64>(packed.shape(0)) != panels(n, size) * size * quads * kQuad)
        throw std::invalid_argument("packed has the wrong length");
    nb::gil_scoped_release release;
    std::fill_n(packed.data(), packed.shape(0), static_cast<T>(0));
    for (i64 r = 0; r < n; ++r)
        for (i64 k = 0; k < d; ++k) packed.data()[place(r, k, quads, size)] = values.data()[r * d + k];
}

void pack_queries(In2<u8> values, Out<u8> packed) { pack(values, packed, kQueries); }

void pack_targets(In2<i8> values, Out<i8> packed) { pack(values, packed, kTargets); }

// Offers (x - 64, y) * worth(x) * scale(y) + bias(y) of all targets y to the lists of queries x; sums are those
// of the bytes of y, and the first of them has the index first.
void select_rounded(In<u8> queries, In<float> worth, In<i8> targets, In<i32> sums, In<float> scales, In<float> bias,
                    i64 d, i32 first, bool portable, OutScores scores, OutIndices indices) {
    const i64 n = static_cast<i64>(worth.shape(0)), m = static_cast<i64>(sums.shape(0)), quads = panels(d, kQuad);
    const Lists lists = as_lists(scores, indices, worth.shape(0));
    if (static_cast<i64>(queries.shape(0)) != panels(n, kQueries) * kQueries * quads * kQuad ||
        static_cast<i64>(targets.shape(0)) != panels(m, kTargets) * kTargets * quads * kQuad ||
        static_cast<i64>(scales.shape(0)) != m || static_cast<i64>(bias.shape(0)) != m)
        throw std::invalid_argument("queries and targets do not fit together");
    const Multiply multiply = portable ? multiply_plain : fastest();
    nb::gil_scoped_release release;
    Tile tile;
    for (i64 c = 0; c < m; c += kTargets) {
        const Panel panel(targets.data() + c * quads * kQuad, sums.data() + c, scales.data() + c, bias.data() + c,
                          std::min(kTargets, m - c));
        for (i64 r = 0; r < n; r += kQueries) {
            float of_rows[kQueries] = {}, floors[kQueries];
            for (i64 i = 0; i < kQueries; ++i) floors[i] = std::numeric_limits<float>::infinity();
            for (i64 i = 0; i < std::min(kQueries, n - r); ++i) {
                of_rows[i] = worth.data()[r + i];
                floors[i] = lists.scores[(r + i) * lists.size];
            }
            if (!multiply(queries.data() + r * quads * kQuad, of_rows, panel, quads, floors, tile)) continue;
            for (i64 i = 0; i < std::min(kQueries, n - r); ++i)
                for (i64 j = 0; j < panel.width; ++j)
                    if (tile[i][j] > floors[i])
                        floors[i] = lists.offer(r + i, tile[i][j], first + static_cast<i32>(c + j));
        }
    }
}

}  // namespace

void bind_rounded(nb::module_ &m) {
    m.def("pack_queries", &pack_queries, nb::arg("values"), nb::arg("packed").noconvert());
    m.def("pack_targets", &pack_targets, nb::arg("values"), nb::arg("packed").noconvert());
    m.def("select_rounded", &select_rounded, nb::arg("queries"), nb::arg("worth"), nb::arg("targets"),
          nb::arg("sums"), nb::arg("scales"), nb::arg("bias"), nb::arg("d"), nb::arg("first"), nb::arg("portable"),
          nb::arg("scores").noconvert(), nb::arg("indices").noconvert());
}
