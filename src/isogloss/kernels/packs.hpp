// Four doubles or eight floats that the compiler keeps in one register, and products of small matrices made of them.
#pragma once
#include <cstring>

#include "arrays.hpp"

#if defined(__GNUC__)
#define ISOGLOSS_INLINE inline __attribute__((always_inline))
#else
#define ISOGLOSS_INLINE inline
#endif

namespace isogloss {

constexpr i64 kPack = 4;  // doubles in a pack

template <class T>
constexpr i64 kWidth = kPack * static_cast<i64>(sizeof(double) / sizeof(T));

#if defined(__GNUC__)
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"  // no pack crosses a call: everything here is inlined
#endif
template <class T>
struct Packed;
template <>
struct Packed<double> {
    typedef double type __attribute__((vector_size(kPack * sizeof(double))));
};
template <>
struct Packed<float> {
    typedef float type __attribute__((vector_size(kPack * sizeof(double))));
};
template <class T>
using PackOf = typename Packed<T>::type;
#else
template <class T>
struct PackOf {
    T v[kWidth<T>];
    T operator[](i64 i) const { return v[i]; }
    PackOf &operator+=(const PackOf &o) { return *this = *this + o; }
    friend PackOf operator+(PackOf a, const PackOf &b) {
        for (i64 i = 0; i < kWidth<T>; ++i) a.v[i] += b.v[i];
        return a;
    }
    friend PackOf operator*(PackOf a, const PackOf &b) {
        for (i64 i = 0; i < kWidth<T>; ++i) a.v[i] *= b.v[i];
        return a;
    }
    friend PackOf operator*(PackOf a, T b) {
        for (i64 i = 0; i < kWidth<T>; ++i) a.v[i] *= b;
        return a;
    }
};
#endif
using Pack = PackOf<double>;

template <class T>
ISOGLOSS_INLINE PackOf<T> load(const T *from) {
    PackOf<T> pack;
    std::memcpy(&pack, from, sizeof pack);
    return pack;
}

template <class T>
ISOGLOSS_INLINE void store(T *to, const PackOf<T> &pack) {
    std::memcpy(to, &pack, sizeof pack);
}

ISOGLOSS_INLINE double sum_of(const Pack &pack) { return (pack[0] + pack[1]) + (pack[2] + pack[3]); }

// R rows of C packs, held in registers while the sum runs.
template <int R, int C, class T>
ISOGLOSS_INLINE void product_tile(const T *x, i64 x_row, i64 x_column, const T *m, i64 depth, i64 stride, T *out,
                                  bool add) {
    PackOf<T> sums[R][C];
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) sums[r][c] = add ? load(out + r * stride + c * kWidth<T>) : PackOf<T>{};
    for (i64 i = 0; i < depth; ++i) {
        PackOf<T> row[C];
        for (int c = 0; c < C; ++c) row[c] = load(m + i * stride + c * kWidth<T>);
        for (int r = 0; r < R; ++r)
            for (int c = 0; c < C; ++c) sums[r][c] += row[c] * x[r * x_row + i * x_column];
    }
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) store(out + r * stride + c * kWidth<T>, sums[r][c]);
}

template <int C, class T>
ISOGLOSS_INLINE void product_columns(const T *x, i64 x_row, i64 x_column, i64 rows, const T *m, i64 depth, i64 stride,
                                     T *out, bool add) {
    i64 r = 0;
    for (; r + 4 <= rows; r += 4)
        product_tile<4, C>(x + r * x_row, x_row, x_column, m, depth, stride, out + r * stride, add);
    for (; r < rows; ++r)
        product_tile<1, C>(x + r * x_row, x_row, x_column, m, depth, stride, out + r * stride, add);
}

// out (rows x stride) = x (rows x depth, with any steps) times m (depth x stride), or is added to.
template <class T>
ISOGLOSS_INLINE void product(const T *x, i64 x_row, i64 x_column, i64 rows, const T *m, i64 depth, i64 stride, T *out,
                             bool add) {
    i64 k = 0;
    for (; k + 2 * kWidth<T> <= stride; k += 2 * kWidth<T>)
        product_columns<2>(x, x_row, x_column, rows, m + k, depth, stride, out + k, add);
    if (k < stride) product_columns<1>(x, x_row, x_column, rows, m + k, depth, stride, out + k, add);
}

}  // namespace isogloss
