// E-step loops of mixtures whose log densities are linear in quadratic features of a row.
//
//   log p(x, z = k) = theta_k . f(x)
//   kind 0 (full)       f = (x_i x_j for i <= j, x, 1)
//   kind 1 (diag)       f = (x_i^2, x, 1)
//   kind 2 (spherical)  f = (x . x, x, 1)
//   kind 3 (tied)       f = (x, 1), the quadratic term being the same for every k
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "simd.hpp"

namespace nb = nanobind;

namespace {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutVector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Offsets = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutOffsets = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutIndices = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// exp(-50) is two hundred times below half a unit in the last place of 1.
constexpr double kNegligible = -50.0;

std::size_t width_of(std::size_t d, int kind) {
    switch (kind) {
        case 0: return d * (d + 1) / 2 + d + 1;
        case 1: return 2 * d + 1;
        case 2: return d + 2;
        case 3: return d + 1;
        default: throw std::invalid_argument("kind must be 0 (full), 1 (diag), 2 (spherical) or 3 (tied)");
    }
}

inline void row_features(const double *__restrict x, std::size_t d, int kind, double *__restrict f) {
    if (kind == 0) {
        for (std::size_t i = 0; i < d; ++i) {
            const double xi = x[i];
            for (std::size_t j = i; j < d; ++j) *f++ = xi * x[j];
        }
    } else if (kind == 1) {
        for (std::size_t i = 0; i < d; ++i) *f++ = x[i] * x[i];
    } else if (kind == 2) {
        double square = 0.0;
        for (std::size_t i = 0; i < d; ++i) square += x[i] * x[i];
        *f++ = square;
    }
    for (std::size_t i = 0; i < d; ++i) *f++ = x[i];
    *f = 1.0;
}

ISOGLOSS_CLONES
void fill_features(const double *x, std::size_t n, std::size_t d, int kind, std::size_t width, double *f) {
    for (std::size_t r = 0; r < n; ++r) row_features(x + r * d, d, kind, f + r * width);
}

void quadratic_features(Matrix x, int kind, OutMatrix out) {
    const std::size_t n = x.shape(0), d = x.shape(1), width = width_of(d, kind);
    if (out.shape(0) != n || out.shape(1) != width) throw std::invalid_argument("out has the wrong shape");
    nb::gil_scoped_release release;
    fill_features(x.data(), n, d, kind, width, out.data());
}

// Turns row r's log joint densities into posteriors; returns their log normaliser.
inline double normalise_row(double *__restrict p, std::size_t k, double &entropy) {
    double top = p[0];
    for (std::size_t j = 1; j < k; ++j) top = std::max(top, p[j]);
    if (!std::isfinite(top)) {
        entropy = 0.0;
        return top;
    }
    double sum = 0.0, weighted = 0.0;
    for (std::size_t j = 0; j < k; ++j) {
        const double shifted = p[j] - top;
        if (shifted < kNegligible) {
            p[j] = 0.0;
        } else {
            const double e = std::exp(shifted);
            p[j] = e;
            sum += e;
            weighted += e * shifted;
        }
    }
    const double inverse = 1.0 / sum, log_sum = std::log(sum);
    for (std::size_t j = 0; j < k; ++j) p[j] *= inverse;
    entropy = log_sum - weighted * inverse;
    return top + log_sum;
}

// Posteriors in place of log joint densities; gives the weighted entropy and the number of components above
// the threshold in rows that have several such.
nb::tuple normalise_log_joint(OutMatrix log_joint, Vector weights, double threshold, OutVector log_norm) {
    const std::size_t n = log_joint.shape(0), k = log_joint.shape(1);
    if (weights.shape(0) != n || log_norm.shape(0) != n) throw std::invalid_argument("lengths differ");
    if (k == 0) throw std::invalid_argument("no components");
    double entropy = 0.0;
    std::int64_t active = 0;
    {
        nb::gil_scoped_release release;
        for (std::size_t r = 0; r < n; ++r) {
            double *p = log_joint.data() + r * k, row_entropy;
            log_norm.data()[r] = normalise_row(p, k, row_entropy);
            const double w = weights.data()[r];
            entropy += w * row_entropy;
            const std::int64_t here = std::count_if(p, p + k, [=](double q) { return q > threshold; });
            if (here > 1) active += here;
        }
    }
    return nb::make_tuple(entropy, active);
}

// Counts, per row, the components above the threshold, lists them where there are several, and gives the
// share of the posterior that they hold.
void list_active(Matrix posterior, double threshold, OutOffsets lengths, OutIndices indices, OutVector free) {
    const std::size_t n = posterior.shape(0), k = posterior.shape(1), room = indices.shape(0);
    if (lengths.shape(0) != n || free.shape(0) != n) throw std::invalid_argument("lengths differ");
    std::vector<std::int32_t> row(k);
    std::size_t at = 0;
    nb::gil_scoped_release release;
    for (std::size_t r = 0; r < n; ++r) {
        const double *p = posterior.data() + r * k;
        std::size_t m = 0;
        double mass = 0.0;
        for (std::size_t j = 0; j < k; ++j) {
            if (p[j] > threshold) {
                row[m++] = static_cast<std::int32_t>(j);
                mass += p[j];
            }
        }
        if (m > 1) {
            if (at + m > room) throw std::invalid_argument("indices is too short");
            std::copy(row.begin(), row.begin() + m, indices.data() + at);
            at += m;
        }
        free.data()[r] = mass;
        lengths.data()[r] = static_cast<std::int64_t>(m);
    }
}

ISOGLOSS_CLONES
double dot(const double *__restrict a, const double *__restrict b, std::size_t n) {
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

ISOGLOSS_CLONES
void add_scaled(double scale, const double *__restrict a, double *__restrict to, std::size_t n) {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) to[i] += scale * a[i];
}

// One sparse E-step: posteriors over each row's list share its free mass; sums are added into `sums`.
double expect_active(Matrix x, Vector weights, Matrix theta, Offsets offsets, Indices indices, Vector free,
                     int kind, OutMatrix sums) {
    const std::size_t n = x.shape(0), d = x.shape(1), width = width_of(d, kind), k = theta.shape(0);
    if (theta.shape(1) != width || sums.shape(0) != k || sums.shape(1) != width)
        throw std::invalid_argument("theta or sums has the wrong shape");
    if (offsets.shape(0) != n + 1 || free.shape(0) != n || weights.shape(0) != n)
        throw std::invalid_argument("lengths differ");
    double entropy = 0.0;
    std::vector<double> f(width), p(k);
    nb::gil_scoped_release release;
    for (std::size_t r = 0; r < n; ++r) {
        const std::size_t begin = offsets.data()[r], end = offsets.data()[r + 1], m = end - begin;
        if (m == 0) continue;
        const std::int32_t *list = indices.data() + begin;
        row_features(x.data() + r * d, d, kind, f.data());
        for (std::size_t a = 0; a < m; ++a) p[a] = dot(theta.data() + list[a] * width, f.data(), width);
        double row_entropy;
        normalise_row(p.data(), m, row_entropy);
        const double mass = free.data()[r], w = weights.data()[r];
        // q = mass * p, so H(q) = mass * H(p) - mass * log(mass).
        entropy += w * mass * (row_entropy - std::log(mass));
        for (std::size_t a = 0; a < m; ++a)
            add_scaled(w * mass * p[a], f.data(), sums.data() + list[a] * width, width);
    }
    return entropy;
}

}  // namespace

// What a loop writes into must be the caller's own array: converting it would write into a copy.
void bind_mixture(nb::module_ &m) {
    m.def("quadratic_features", &quadratic_features, nb::arg("x"), nb::arg("kind"), nb::arg("out").noconvert());
    m.def("normalise_log_joint", &normalise_log_joint, nb::arg("log_joint").noconvert(), nb::arg("weights"),
          nb::arg("threshold"), nb::arg("log_norm").noconvert());
    m.def("list_active", &list_active, nb::arg("posterior"), nb::arg("threshold"),
          nb::arg("lengths").noconvert(), nb::arg("indices").noconvert(), nb::arg("free").noconvert());
    m.def("expect_active", &expect_active, nb::arg("x"), nb::arg("weights"), nb::arg("theta"),
          nb::arg("offsets"), nb::arg("indices"), nb::arg("free"), nb::arg("kind"), nb::arg("sums").noconvert());
}
