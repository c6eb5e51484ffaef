// A hidden Markov chain over symbols, and the sequences it is asked about, as the compiled loops want them.
#pragma once
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "packs.hpp"

namespace isogloss {

// Rows of the tables are padded with zeros to `stride` states.
struct Chain {
    i64 states, symbols, stride;
    std::vector<double> start, forward, backward, emission, unknown;  // backward: the transitions, transposed

    Chain(In<double> first, In2<double> transition, In2<double> emissions)
        : states(static_cast<i64>(first.shape(0))), symbols(static_cast<i64>(emissions.shape(0))) {
        const std::size_t k = first.shape(0);
        if (k == 0) throw std::invalid_argument("no states");
        if (transition.shape(0) != k || transition.shape(1) != k || emissions.shape(1) != k)
            throw std::invalid_argument("start, transition and emission have different numbers of states");
        stride = (states + kPack - 1) / kPack * kPack;
        start.assign(stride, 0.0);
        unknown.assign(stride, 0.0);
        std::copy_n(first.data(), k, start.begin());
        std::fill_n(unknown.begin(), k, 1.0);
        forward.assign(states * stride, 0.0);
        backward.assign(states * stride, 0.0);
        emission.assign(symbols * stride, 0.0);
        for (i64 i = 0; i < states; ++i)
            for (i64 j = 0; j < states; ++j)
                forward[i * stride + j] = backward[j * stride + i] = transition.data()[i * states + j];
        for (i64 v = 0; v < symbols; ++v)
            std::copy_n(emissions.data() + v * states, k, emission.begin() + v * stride);
    }
};

// A code of -1 is a missing symbol; a label is the state that is known, or -1. Text checks every index once.
struct Text {
    const i32 *codes, *labels;  // labels may be null
    const i64 *offsets;
    i64 sequences;

    Text(In<i32> codes, In<i32> labels, In<i64> offsets, const Chain &chain)
        : codes(codes.data()), labels(labels.shape(0) ? labels.data() : nullptr), offsets(offsets.data()),
          sequences(static_cast<i64>(offsets.shape(0)) - 1) {
        const i64 n = static_cast<i64>(codes.shape(0));
        if (sequences < 0 || this->offsets[0] != 0 || this->offsets[sequences] != n)
            throw std::invalid_argument("offsets do not cover the codes");
        for (i64 s = 0; s < sequences; ++s)
            if (this->offsets[s] >= this->offsets[s + 1]) throw std::invalid_argument("an empty sequence");
        if (this->labels && static_cast<i64>(labels.shape(0)) != n)
            throw std::invalid_argument("as many labels as codes are needed, or none");
        for (i64 p = 0; p < n; ++p)
            if (this->codes[p] < -1 || this->codes[p] >= chain.symbols ||
                (this->labels && (this->labels[p] < -1 || this->labels[p] >= chain.states)))
                throw std::invalid_argument("a code or label lies outside the tables");
    }
    i64 length(i64 s) const { return offsets[s + 1] - offsets[s]; }
    i64 tokens() const { return offsets[sequences]; }
};

}  // namespace isogloss
