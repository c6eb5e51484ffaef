// Inner products of vectors of floats, the same to the last bit on every machine.
#pragma once
#include <cstddef>

#include "simd.hpp"

namespace isogloss {

// Partial sums of an inner product: their number fixes the order of additions, whatever the registers.
constexpr std::size_t kLanes = 16;

// A product of two floats is exact in double, so the order of additions alone decides the last bit.
ISOGLOSS_CLONES
static double inner_product(const float *__restrict a, const float *__restrict b, std::size_t d) {
    double lanes[kLanes] = {};
    std::size_t i = 0;
    for (; i + kLanes <= d; i += kLanes)
        for (std::size_t l = 0; l < kLanes; ++l)
            lanes[l] += static_cast<double>(a[i + l]) * static_cast<double>(b[i + l]);
    for (std::size_t l = 0; i + l < d; ++l)
        lanes[l] += static_cast<double>(a[i + l]) * static_cast<double>(b[i + l]);
    for (std::size_t half = kLanes / 2; half > 0; half /= 2)
        for (std::size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
    return lanes[0];
}

}  // namespace isogloss
