// Arrays as the compiled loops take them: contiguous, in this machine's memory.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <utility>
#include <vector>

// Windows headers, if anything includes them, define these two words as empty macros.
#undef near
#undef far

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

// An array that owns what the loop has gathered.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> as_array(std::vector<T> &&values) {
    auto *kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner);
}

}  // namespace isogloss
