// Arrays as the compiled loops take them: contiguous, in this machine's memory.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>

namespace isogloss {

namespace nb = nanobind;

using i32 = std::int32_t;
using i64 = std::int64_t;
template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// An array of exactly this type; one that would have to be converted is refused, as results would be lost.
template <class T>
T fixed(nb::handle value) {
    return nb::cast<T>(value, false);
}

}  // namespace isogloss
