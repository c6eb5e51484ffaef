// The nearest of many points of length one: by rounded products first, and those that may be among them exactly.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "products.hpp"
#include "simd.hpp"

namespace {

using namespace isogloss;
using i16 = std::int16_t;

struct Near {
    double score;
    i64 number;
};

// Rows whose rounded products with a point are not too small. Products of whole numbers do not depend on the order
// of additions, and those of points of length one fit 32 bits.
ISOGLOSS_CLONES
void find_rows(const i16 *points, const i16 *point, std::size_t n, std::size_t d, i32 least, std::vector<i32> &found) {
    for (std::size_t row = 0; row < n; ++row) {
        const i16 *own = points + row * d;
        i32 sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::size_t i = 0; i < d; ++i) sum += static_cast<i32>(own[i]) * static_cast<i32>(point[i]);
        if (sum >= least) found.push_back(static_cast<i32>(row));
    }
}

// How small the rounded product of two points may be if their product is no less than this: each coordinate was
// multiplied by unit and rounded, which moves a point by half the root of its dimensions at most.
i32 least_rounded(double least, double unit, std::size_t dims) {
    const double root = std::sqrt(static_cast<double>(dims));
    return static_cast<i32>(std::floor(least * unit * unit - unit * (root + 1.0) - 0.25 * root * root));
}

// Of each language the numbers of the points nearest to one, at most k of them, no less near than said and above
// the oldest number; of equal ones those of lower numbers. They come ascending.
std::size_t nearest_points(In2<i16> rounded, In2<float> points, In<i64> owners, In<i16> languages,
                           In<i16> rounded_point, In<float> point, double unit, std::size_t rows, i64 oldest,
                           std::size_t k, double least, Out<i64> numbers) {
    const std::size_t dims = points.shape(1), n = points.shape(0);
    if (rounded.shape(0) != n || owners.shape(0) != n || languages.shape(0) != n || rows > n ||
        rounded_point.shape(0) != rounded.shape(1) || point.shape(0) != dims)
        throw std::invalid_argument("shapes differ");
    std::vector<i32> found;
    find_rows(rounded.data(), rounded_point.data(), rows, rounded.shape(1), least_rounded(least, unit, dims), found);
    std::vector<std::vector<Near>> near;
    for (const i32 row : found) {
        if (owners.data()[row] <= oldest) continue;
        const double score = inner_product(points.data() + row * dims, point.data(), dims);
        if (score < least) continue;
        const auto language = static_cast<std::size_t>(languages.data()[row]);
        if (language >= near.size()) near.resize(language + 1);
        near[language].push_back({score, owners.data()[row]});
    }
    std::vector<i64> out;
    for (auto &own : near) {
        std::sort(own.begin(), own.end(), [](const Near &a, const Near &b) {
            return std::tie(b.score, a.number) < std::tie(a.score, b.number);
        });
        for (std::size_t i = 0; i < std::min(k, own.size()); ++i) out.push_back(own[i].number);
    }
    std::sort(out.begin(), out.end());
    if (out.size() > numbers.shape(0)) throw std::invalid_argument("no room");
    std::copy(out.begin(), out.end(), numbers.data());
    return out.size();
}

}  // namespace

void bind_latest(nb::module_ &m) {
    m.def("nearest_points", &nearest_points, nb::arg("rounded").noconvert(), nb::arg("points").noconvert(),
          nb::arg("owners").noconvert(), nb::arg("languages").noconvert(), nb::arg("rounded_point").noconvert(),
          nb::arg("point").noconvert(), nb::arg("unit"), nb::arg("rows"), nb::arg("oldest"), nb::arg("k"),
          nb::arg("least"), nb::arg("numbers").noconvert(), nb::call_guard<nb::gil_scoped_release>());
}
