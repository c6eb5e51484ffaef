// Lists of the best few: binary heaps of (score, index) pairs with the worst pair on top.
//
// A pair is worse if its score is lower or, at equal scores, if its index is higher. An empty place holds
// (-inf, -1).
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "arrays.hpp"

namespace isogloss {

using OutScores = Out2<float>;
using OutIndices = Out2<std::int32_t>;

inline bool worse(float a, std::int32_t i, float b, std::int32_t j) { return a < b || (a == b && i > j); }

// Puts a pair in the place of the worst one and restores the heap.
inline void replace_worst(float *s, std::int32_t *at, std::size_t size, float score, std::int32_t index) {
    std::size_t place = 0;
    for (std::size_t child = 1; child < size; child = 2 * place + 1) {
        if (child + 1 < size && worse(s[child + 1], at[child + 1], s[child], at[child])) ++child;
        if (!worse(s[child], at[child], score, index)) break;
        s[place] = s[child];
        at[place] = at[child];
        place = child;
    }
    s[place] = score;
    at[place] = index;
}

struct Lists {
    float *scores;
    std::int32_t *indices;
    std::size_t size;

    float offer(std::size_t list, float score, std::int32_t index) const {
        float *s = scores + list * size;
        replace_worst(s, indices + list * size, size, score, index);
        return s[0];
    }
};

inline Lists as_lists(OutScores scores, OutIndices indices, std::size_t n) {
    const std::size_t size = scores.shape(1);
    if (scores.shape(0) != n || indices.shape(0) != n || indices.shape(1) != size || size == 0)
        throw std::invalid_argument("lists have the wrong shape");
    return {scores.data(), indices.data(), size};
}

}  // namespace isogloss
