// The M-step of a lexicon: counts of word pairs over their sums per source word and per target word.
//
// The pair table is that of pairs.cpp; counts and lexicon have a row per pair and a column per direction.
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"

namespace nb = nanobind;

namespace {

using namespace isogloss;

// Pseudo-counts: the same for every pair, and none, one or two columns of their own.
struct Pseudo {
    const float *pairs;
    i64 columns;
    double each;

    double operator()(i64 pair, int direction) const {
        if (columns == 0) return each;
        return each + pairs[columns == 1 ? pair : 2 * pair + direction];
    }
};

double share(double part, double whole) { return part / std::max(whole, std::numeric_limits<double>::min()); }

void normalise_lexicon(In<i64> rows, In<i32> columns, i64 target_words, In2<double> counts, In2<float> pseudo_pairs,
                       double pseudo_each, Out2<float> lexicon) {
    const i64 n = static_cast<i64>(columns.shape(0)), words = static_cast<i64>(rows.shape(0)) - 1;
    const Pseudo pseudo{pseudo_pairs.data(), static_cast<i64>(pseudo_pairs.shape(1)), pseudo_each};
    if (words < 0 || static_cast<i64>(counts.shape(0)) != n || counts.shape(1) != 2 ||
        static_cast<i64>(lexicon.shape(0)) != n || lexicon.shape(1) != 2 || pseudo.columns > 2 ||
        (pseudo.columns > 0 && static_cast<i64>(pseudo_pairs.shape(0)) != n))
        throw std::invalid_argument("counts, pseudo-counts and lexicon need a row per pair of the table");
    const i64 *row = rows.data();
    const i32 *column = columns.data();
    const double *count = counts.data();
    float *out = lexicon.data();
    nb::gil_scoped_release release;
    std::vector<double> per_target(target_words, 0.0);
    for (i64 e = 0; e < words; ++e) {
        double per_source = 0.0;
        for (i64 k = row[e]; k < row[e + 1]; ++k) {
            per_source += count[2 * k] + pseudo(k, 0);
            per_target[column[k]] += count[2 * k + 1] + pseudo(k, 1);
        }
        for (i64 k = row[e]; k < row[e + 1]; ++k)
            out[2 * k] = static_cast<float>(share(count[2 * k] + pseudo(k, 0), per_source));
    }
    for (i64 k = 0; k < n; ++k)
        out[2 * k + 1] = static_cast<float>(share(count[2 * k + 1] + pseudo(k, 1), per_target[column[k]]));
}

}  // namespace

void bind_lexicon(nb::module_ &m) {
    m.def("normalise_lexicon", &normalise_lexicon,
          "Write t(f|e) and t(e|f) of every pair of a table into lexicon (pairs x 2), from counts (pairs x 2) and "
          "pseudo-counts (pairs x 0, 1 or 2, and one for every pair).");
}
