// Four doubles that the compiler keeps in one register, and products of small matrices made of them.
#pragma once
#include <cstring>

#include "arrays.hpp"

#if defined(__GNUC__)
#define ISOGLOSS_INLINE inline __attribute__((always_inline))
#else
#define ISOGLOSS_INLINE inline
#endif

namespace isogloss {

constexpr i64 kPack = 4;

#if defined(__GNUC__)
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"  // no pack crosses a call: everything here is inlined
#endif
typedef double Pack __attribute__((vector_size(kPack * sizeof(double))));
#else
struct Pack {
    double v[kPack];
    double operator[](i64 i) const { return v[i]; }
    Pack &operator+=(const Pack &o) { return *this = *this + o; }
    friend Pack operator+(Pack a, const Pack &b) {
        for (i64 i = 0; i < kPack; ++i) a.v[i] += b.v[i];
        return a;
    }
    friend Pack operator*(Pack a, const Pack &b) {
        for (i64 i = 0; i < kPack; ++i) a.v[i] *= b.v[i];
        return a;
    }
    friend Pack operator*(Pack a, double b) {
        for (i64 i = 0; i < kPack; ++i) a.v[i] *= b;
        return a;
    }
};
#endif

ISOGLOSS_INLINE Pack load(const double *from) {
    Pack pack;
    std::memcpy(&pack, from, sizeof(Pack));
    return pack;
}

ISOGLOSS_INLINE void store(double *to, const Pack &pack) { std::memcpy(to, &pack, sizeof(Pack)); }

ISOGLOSS_INLINE double sum_of(const Pack &pack) { return (pack[0] + pack[1]) + (pack[2] + pack[3]); }

// R rows of C packs, held in registers while the sum runs.
template <int R, int C>
ISOGLOSS_INLINE void product_tile(const double *x, i64 x_row, i64 x_column, const double *m, i64 depth, i64 stride,
                                  double *out, bool add) {
    Pack sums[R][C];
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) sums[r][c] = add ? load(out + r * stride + c * kPack) : Pack{};
    for (i64 i = 0; i < depth; ++i) {
        Pack row[C];
        for (int c = 0; c < C; ++c) row[c] = load(m + i * stride + c * kPack);
        for (int r = 0; r < R; ++r)
            for (int c = 0; c < C; ++c) sums[r][c] += row[c] * x[r * x_row + i * x_column];
    }
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) store(out + r * stride + c * kPack, sums[r][c]);
}

template <int C>
ISOGLOSS_INLINE void product_columns(const double *x, i64 x_row, i64 x_column, i64 rows, const double *m, i64 depth,
                                     i64 stride, double *out, bool add) {
    i64 r = 0;
    for (; r + 4 <= rows; r += 4)
        product_tile<4, C>(x + r * x_row, x_row, x_column, m, depth, stride, out + r * stride, add);
    for (; r < rows; ++r)
        product_tile<1, C>(x + r * x_row, x_row, x_column, m, depth, stride, out + r * stride, add);
}

// out (rows x stride) = x (rows x depth, with any steps) times m (depth x stride), or is added to.
ISOGLOSS_INLINE void product(const double *x, i64 x_row, i64 x_column, i64 rows, const double *m, i64 depth,
                             i64 stride, double *out, bool add) {
    i64 k = 0;
    for (; k + 2 * kPack <= stride; k += 2 * kPack)
        product_columns<2>(x, x_row, x_column, rows, m + k, depth, stride, out + k, add);
    if (k < stride) product_columns<1>(x, x_row, x_column, rows, m + k, depth, stride, out + k, add);
}

}  // namespace isogloss
