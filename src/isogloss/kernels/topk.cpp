// The largest entries of every row, and of every column, of a matrix that is seen one block at a time.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lists.hpp"
#include "products.hpp"
#include "simd.hpp"

namespace nb = nanobind;

namespace {

using namespace isogloss;
using Matrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bias = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutVector = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutExact = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Entries that are tested together; a power of two that divides into the registers of every instruction set.
constexpr std::size_t kStep = 32;

// Most entries are in no list: steps of them are dismissed by comparisons alone.
ISOGLOSS_CLONES
void offer_rows(const float *__restrict block, std::size_t n, std::size_t m, const float *__restrict bias,
                std::int32_t first_column, Lists rows) {
    for (std::size_t r = 0; r < n; ++r) {
        const float *s = block + r * m;
        float floor = rows.scores[r * rows.size];
        for (std::size_t c = 0; c < m; c += kStep) {
            const std::size_t end = std::min(c + kStep, m);
            int any = end - c < kStep;
            if (!any) {
#pragma omp simd reduction(| : any)
                for (std::size_t j = c; j < c + kStep; ++j) any |= s[j] + bias[j] > floor ? -1 : 0;
            }
            if (!any) continue;
            for (std::size_t j = c; j < end; ++j) {
                const float score = s[j] + bias[j];
                if (score > floor) floor = rows.offer(r, score, first_column + static_cast<std::int32_t>(j));
            }
        }
    }
}

ISOGLOSS_CLONES
void offer_both(const float *__restrict block, std::size_t n, std::size_t m, const float *__restrict column_bias,
                const float *__restrict row_bias, std::int32_t first_row, std::int32_t first_column, Lists rows,
                Lists columns, float *__restrict floors) {
    for (std::size_t r = 0; r < n; ++r) {
        const float *s = block + r * m, lift = row_bias[r];
        float floor = rows.scores[r * rows.size];
        for (std::size_t c = 0; c < m; c += kStep) {
            const std::size_t end = std::min(c + kStep, m);
            int any = end - c < kStep;
            if (!any) {
#pragma omp simd reduction(| : any)
                for (std::size_t j = c; j < c + kStep; ++j)
                    any |= (s[j] + column_bias[j] > floor) | (s[j] + lift > floors[j]) ? -1 : 0;
            }
            if (!any) continue;
            for (std::size_t j = c; j < end; ++j) {
                const float down = s[j] + lift, across = s[j] + column_bias[j];
                if (across > floor) floor = rows.offer(r, across, first_column + static_cast<std::int32_t>(j));
                if (down > floors[j]) floors[j] = columns.offer(j, down, first_row + static_cast<std::int32_t>(r));
            }
        }
    }
}

// Offers block + column_bias to the lists of its rows.
void select_rows(Matrix block, Vector column_bias, std::int32_t first_column, OutScores scores,
                 OutIndices indices) {
    const std::size_t n = block.shape(0), m = block.shape(1);
    const Lists rows = as_lists(scores, indices, n);
    if (column_bias.shape(0) != m) throw std::invalid_argument("lengths differ");
    nb::gil_scoped_release release;
    offer_rows(block.data(), n, m, column_bias.data(), first_column, rows);
}

// Offers block + column_bias to the lists of its rows and block + row_bias to those of its columns, whose
// worst scores are kept in floors as well.
void select_both(Matrix block, Vector column_bias, Vector row_bias, std::int32_t first_row,
                 std::int32_t first_column, OutScores row_scores, OutIndices row_indices,
                 OutScores column_scores, OutIndices column_indices, OutVector floors) {
    const std::size_t n = block.shape(0), m = block.shape(1);
    const Lists rows = as_lists(row_scores, row_indices, n), columns = as_lists(column_scores, column_indices, m);
    if (column_bias.shape(0) != m || row_bias.shape(0) != n || floors.shape(0) != m)
        throw std::invalid_argument("lengths differ");
    nb::gil_scoped_release release;
    offer_both(block.data(), n, m, column_bias.data(), row_bias.data(), first_row, first_column, rows, columns,
               floors.data());
}

// Scores every candidate of a query in double, bias included, and sorts them, the best first.
void rank_candidates(Matrix queries, Matrix targets, Bias bias, OutIndices candidates, OutExact scores) {
    const std::size_t n = queries.shape(0), d = queries.shape(1), size = candidates.shape(1);
    if (targets.shape(1) != d || bias.shape(0) != targets.shape(0) || candidates.shape(0) != n ||
        scores.shape(0) != n || scores.shape(1) != size)
        throw std::invalid_argument("shapes differ");
    const std::int64_t m = static_cast<std::int64_t>(targets.shape(0));
    for (std::size_t i = 0; i < n * size; ++i)
        if (candidates.data()[i] < 0 || candidates.data()[i] >= m)
            throw std::invalid_argument("a candidate is not a row of targets");
    std::vector<std::pair<double, std::int32_t>> list(size);
    nb::gil_scoped_release release;
    for (std::size_t q = 0; q < n; ++q) {
        std::int32_t *index = candidates.data() + q * size;
        for (std::size_t c = 0; c < size; ++c) {
            const double product = inner_product(queries.data() + q * d, targets.data() + index[c] * d, d);
            list[c] = {-(product + bias.data()[index[c]]), index[c]};
        }
        std::sort(list.begin(), list.end());
        for (std::size_t c = 0; c < size; ++c) {
            scores.data()[q * size + c] = -list[c].first;
            index[c] = list[c].second;
        }
    }
}

}  // namespace

void bind_topk(nb::module_ &m) {
    m.def("select_rows", &select_rows, nb::arg("block"), nb::arg("column_bias"), nb::arg("first_column"),
          nb::arg("scores").noconvert(), nb::arg("indices").noconvert());
    m.def("select_both", &select_both, nb::arg("block"), nb::arg("column_bias"), nb::arg("row_bias"),
          nb::arg("first_row"), nb::arg("first_column"), nb::arg("row_scores").noconvert(),
          nb::arg("row_indices").noconvert(), nb::arg("column_scores").noconvert(),
          nb::arg("column_indices").noconvert(), nb::arg("floors").noconvert());
    m.def("rank_candidates", &rank_candidates, nb::arg("queries"), nb::arg("targets"), nb::arg("bias"),
          nb::arg("candidates").noconvert(), nb::arg("scores").noconvert());
}
