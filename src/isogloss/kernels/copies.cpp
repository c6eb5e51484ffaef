// Texts that repeat one of the last texts, found by bands of their signatures.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"

namespace {

using namespace isogloss;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr int kShift = 24;  // the lower bits of a product are the least mixed

// A ring of texts, and for each band of their signatures a table of one more than the place of the last text there.
struct Ring {
    Out2<i32> table;
    Out2<u32> signatures;
    Out<i64> times;

    void check(In<u32> signature, In<u64> factors) const {
        const std::size_t slots = table.shape(1), orders = table.shape(0) * factors.shape(0);
        if (signature.shape(0) != orders || signatures.shape(1) != orders || !orders)
            throw std::invalid_argument("a signature has another length");
        if (!times.shape(0) || signatures.shape(0) != times.shape(0) || !slots || (slots & (slots - 1)))
            throw std::invalid_argument("shapes differ");
    }

    i64 capacity() const { return static_cast<i64>(times.shape(0)); }

    // Where each band of a signature is in the table.
    std::vector<i32 *> cells(const u32 *signature, In<u64> factors) const {
        std::vector<i32 *> out;
        for (std::size_t band = 0; band < table.shape(0); ++band) {
            u64 number = 0;
            for (std::size_t row = 0; row < factors.shape(0); ++row) number += *signature++ * factors.data()[row];
            out.push_back(table.data() + band * table.shape(1) + ((number >> kShift) & (table.shape(1) - 1)));
        }
        return out;
    }

    // How many numbers of a signature are those of the text at a place.
    i64 equal(const u32 *signature, i64 place) const {
        const u32 *own = signatures.data() + place * static_cast<i64>(signatures.shape(1));
        i64 n = 0;
        for (std::size_t i = 0; i < signatures.shape(1); ++i) n += own[i] == signature[i];
        return n;
    }

    void remember(const u32 *signature, i64 time, i64 place, const std::vector<i32 *> &cells) {
        const i64 orders = static_cast<i64>(signatures.shape(1));
        std::copy(signature, signature + orders, signatures.data() + place * orders);
        times.data()[place] = time;
        for (i32 *cell : cells) *cell = static_cast<i32>(place + 1);
    }
};

// The place of the most similar of the texts that agree with a signature in a band, if it is similar enough and near in
// time; of several the one that came first. If there is none, -1, and a text that is to be remembered takes the place of
// the oldest.
i64 find_copy(In<u32> signature, i64 time, In<u64> factors, i64 seen, double threshold, double within,
              Out2<i32> table, Out2<u32> signatures, Out<i64> times, bool remember) {
    Ring ring{table, signatures, times};
    ring.check(signature, factors);
    if (seen < 0) throw std::invalid_argument("seen is negative");
    const std::vector<i32 *> cells = ring.cells(signature.data(), factors);
    i64 best = -1, most = 0, oldest = 0;
    for (const i32 *cell : cells) {
        const i64 place = *cell - 1;
        if (place < 0 || place >= ring.capacity() || place == best) continue;
        if (static_cast<double>(std::abs(times.data()[place] - time)) > within) continue;
        const i64 equal = ring.equal(signature.data(), place);
        const i64 age = (place - seen % ring.capacity() + ring.capacity()) % ring.capacity();
        if (best < 0 || equal > most || (equal == most && age < oldest)) best = place, most = equal, oldest = age;
    }
    if (best >= 0 && static_cast<double>(most) / static_cast<double>(signature.shape(0)) >= threshold) return best;
    if (remember) ring.remember(signature.data(), time, seen % ring.capacity(), cells);
    return -1;
}

}  // namespace

void bind_copies(nb::module_ &m) {
    using namespace nb::literals;
    m.def("find_copy", &find_copy, "signature"_a, "time"_a, "factors"_a, "seen"_a, "threshold"_a, "within"_a,
          "table"_a.noconvert(), "signatures"_a.noconvert(), "times"_a.noconvert(),
          "remember"_a = true, nb::call_guard<nb::gil_scoped_release>());
}
