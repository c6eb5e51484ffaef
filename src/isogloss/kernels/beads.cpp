// Sentences of two languages: how well one side's words explain the other's, and the beads of the best path.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"

namespace {

using namespace isogloss;

constexpr int MOST = 3;  // sentences of one side in a bead
constexpr double NEVER = -std::numeric_limits<double>::infinity();

// Nodes (i, j) of a band, 0 <= i <= n source and 0 <= j <= m target sentences before them; row i has those from
// starts[i] up to stops[i], and its first one is number cells[i].
struct Band {
    const i64 *starts, *stops, *cells;
    i64 n;

    Band(In<i64> starts_, In<i64> stops_, In<i64> cells_)
        : starts(starts_.data()), stops(stops_.data()), cells(cells_.data()), n(i64(starts_.shape(0)) - 1) {
        if (n < 0 || stops_.shape(0) != starts_.shape(0) || cells_.shape(0) != starts_.shape(0) + 1)
            throw std::invalid_argument("lengths differ");
        for (i64 i = 0; i <= n; ++i)
            if (starts[i] < 0 || stops[i] <= starts[i] || cells[i + 1] - cells[i] != stops[i] - starts[i] ||
                (i ? starts[i] < starts[i - 1] || stops[i] < stops[i - 1] : cells[0] || starts[0]))
                throw std::invalid_argument("no band");
    }

    i64 m() const { return stops[n] - 1; }
    bool has(i64 i, i64 j) const { return i <= n && j >= starts[i] && j < stops[i]; }
    i64 at(i64 i, i64 j) const { return cells[i] + j - starts[i]; }
};

// Words of sentences; negative ones are not known.
struct Side {
    const i32 *words;
    const i64 *offsets;
    i64 n;

    Side(In<i32> words_, In<i64> offsets_)
        : words(words_.data()), offsets(offsets_.data()), n(i64(offsets_.shape(0)) - 1) {
        if (n < 0 || offsets[n] > i64(words_.shape(0))) throw std::invalid_argument("words are missing");
    }
};

// Ratios of every other word that the words of some sentences explain, summed.
class Explained {
  public:
    Explained(In<i64> rows, In<i32> columns, In<float> ratios, i64 n_other)
        : rows_(rows.data()), columns_(columns.data()), ratios_(ratios.data()), n_words_(i64(rows.shape(0)) - 1),
          sums_(n_other, 0.0f) {
        if (n_words_ < 0 || columns.shape(0) != ratios.shape(0) || rows_[n_words_] > i64(columns.shape(0)))
            throw std::invalid_argument("lengths differ");
    }

    void add(const Side &side, i64 sentence) {
        for (i64 k = side.offsets[sentence]; k < side.offsets[sentence + 1]; ++k) {
            const i32 word = side.words[k];
            if (word < 0 || word >= n_words_) continue;
            ++known_;
            for (i64 p = rows_[word]; p < rows_[word + 1]; ++p) sums_[columns_[p]] += ratios_[p];
            touched_.push_back(word);
        }
    }

    void clear() {
        for (const i32 word : touched_)
            for (i64 p = rows_[word]; p < rows_[word + 1]; ++p) sums_[columns_[p]] = 0.0f;
        touched_.clear();
        known_ = 0;
    }

    // Log-ratio of a sentence of the other side: these words beside it against its words alone.
    float explain(const Side &other, i64 sentence, float floor) const {
        if (!known_) return 0.0f;
        const float weight = (1.0f - floor) / float(known_);
        double total = 0.0, product = 1.0;
        for (i64 k = other.offsets[sentence]; k < other.offsets[sentence + 1]; ++k) {
            const i32 word = other.words[k];
            if (word < 0) continue;
            product *= floor + weight * sums_[word];
            if (product < 1e-200 || product > 1e200) {
                total += std::log(product);
                product = 1.0;
            }
        }
        return float(total + std::log(product));
    }

  private:
    const i64 *rows_;
    const i32 *columns_;
    const float *ratios_;
    i64 n_words_;
    std::vector<float> sums_;
    std::vector<i32> touched_;
    i64 known_ = 0;
};

// Of every cell (i, j) of a band and k = 0, 1, 2: how much likelier the words of one sentence are beside those of k + 1
// of the other language than alone, as a logarithm. Forward it is target sentence j beside the source sentences from i
// on; backward it is source sentence i beside the target sentences from j on.
void explain_sentences(In<i32> words, In<i64> offsets, In<i32> other_words, In<i64> other_offsets, In<i64> rows,
                       In<i32> columns, In<float> ratios, i64 n_other, float floor, In<i64> starts, In<i64> stops,
                       In<i64> cells, bool backward, Out2<float> out) {
    const Band band(starts, stops, cells);
    const Side side(words, offsets), other(other_words, other_offsets);
    const i64 n = backward ? other.n : side.n, m = backward ? side.n : other.n;
    if (n != band.n || m != band.m() || i64(out.shape(0)) != band.cells[band.n + 1] || out.shape(1) != MOST)
        throw std::invalid_argument("shapes differ");
    Explained explained(rows, columns, ratios, n_other);
    const auto inside = [n_other](const i32 *first, const i32 *last) {
        return std::all_of(first, last, [n_other](i32 word) { return word < n_other; });
    };
    if (!inside(columns.data(), columns.data() + columns.shape(0)) ||
        !inside(other.words, other.words + other.offsets[other.n]))
        throw std::invalid_argument("words are outside of the vocabulary");
    const nb::gil_scoped_release released;
    i64 first = 0, last = 0;  // backward: rows whose stretch of the band has column j
    for (i64 one = 0; one < side.n; ++one) {
        if (backward) {
            while (first < n && band.stops[first] <= one) ++first;
            while (last < n && band.starts[last] <= one) ++last;
        } else {
            first = band.starts[one];
            last = std::min(band.stops[one], m);
        }
        for (i64 k = 0; k < MOST; ++k) {
            if (one + k < side.n) explained.add(side, one + k);
            for (i64 two = first; two < last; ++two) {
                const i64 cell = backward ? band.at(two, one) : band.at(one, two);
                out.data()[cell * MOST + k] = explained.explain(other, two, floor);
            }
        }
        explained.clear();
    }
}

// The score of every bead: its kind, lengths, words and paragraphs. Arrays of lengths have a row per sentence, with a
// column for each number of sentences from it on.
struct Beads {
    In<i64> starts_, stops_, cells_;
    In2<i32> kinds_;
    In<double> log_kinds_;
    In2<double> source_lengths_, precisions_, target_lengths_, backgrounds_;
    double log_ratio, floor;
    In2<float> forward_, backward_;  // by cell, or empty
    In<std::uint8_t> source_ends_, target_ends_;
    std::array<double, 4> paragraphs;  // log-ratios of neither, target, source, both ending a paragraph
    Band band;
    i64 n_kinds;
    const i32 *kinds;  // source and target sentences of each kind
    const double *log_kinds, *source_lengths, *precisions, *target_lengths, *backgrounds;
    const float *forward, *backward;
    const std::uint8_t *source_ends, *target_ends;

    Beads(In<i64> starts, In<i64> stops, In<i64> cells, In2<i32> kinds, In<double> log_kinds,
          In2<double> source_lengths, In2<double> precisions, In2<double> target_lengths, In2<double> backgrounds,
          double log_ratio, double floor, In2<float> forward, In2<float> backward, In<std::uint8_t> source_ends,
          In<std::uint8_t> target_ends, In<double> paragraphs)
        : starts_(starts), stops_(stops), cells_(cells), kinds_(kinds), log_kinds_(log_kinds),
          source_lengths_(source_lengths), precisions_(precisions), target_lengths_(target_lengths),
          backgrounds_(backgrounds), log_ratio(log_ratio), floor(floor), forward_(forward), backward_(backward),
          source_ends_(source_ends), target_ends_(target_ends), paragraphs{}, band(starts, stops, cells),
          n_kinds(i64(kinds.shape(0))), kinds(kinds.data()), log_kinds(log_kinds.data()),
          source_lengths(source_lengths.data()), precisions(precisions.data()), target_lengths(target_lengths.data()),
          backgrounds(backgrounds.data()), forward(forward.data()), backward(backward.data()),
          source_ends(source_ends.data()), target_ends(target_ends.data()) {
        const i64 n = band.n, m = band.m(), size = band.cells[n + 1];
        const auto shaped = [](const auto &x, i64 rows) { return i64(x.shape(0)) == rows && x.shape(1) == MOST; };
        const bool words = forward.shape(0) || backward.shape(0);
        if (!shaped(source_lengths, n) || !shaped(precisions, n) || !shaped(target_lengths, m) ||
            !shaped(backgrounds, m) || kinds.shape(1) != 2 || log_kinds.shape(0) != kinds.shape(0) ||
            i64(source_ends.shape(0)) != n || i64(target_ends.shape(0)) != m || paragraphs.shape(0) != 4 ||
            n_kinds > 250 || (words && !(shaped(forward, size) && shaped(backward, size))))
            throw std::invalid_argument("shapes differ");
        if (!words) this->forward = this->backward = nullptr;
        for (i64 k = 0; k < n_kinds; ++k) {
            const i32 a = this->kinds[2 * k], b = this->kinds[2 * k + 1];
            if (a < 0 || b < 0 || a > MOST || b > MOST || a + b == 0) throw std::invalid_argument("no kind of bead");
        }
        std::copy_n(paragraphs.data(), 4, this->paragraphs.begin());
    }

    double lengths(i64 i, i64 j, int a, int b) const {
        const i64 s = i * MOST + a - 1, t = j * MOST + b - 1;
        const double off = target_lengths[t] - source_lengths[s] - log_ratio;
        const double x = 0.5 * (std::log(precisions[s]) - off * off * precisions[s]) + backgrounds[t];
        return std::log(floor + (1.0 - floor) * std::exp(std::min(x, 50.0)));
    }

    double words(i64 i, i64 j, int a, int b) const {
        if (!forward) return 0.0;
        double sum = 0.0;
        for (int k = 0; k < b; ++k) sum += forward[band.at(i, j + k) * MOST + a - 1];
        for (int k = 0; k < a; ++k) sum += backward[band.at(i + k, j) * MOST + b - 1];
        return sum;
    }

    double ends(i64 i, i64 j, int a, int b) const {
        double sum = paragraphs[2 * source_ends[i + a - 1] + target_ends[j + b - 1]];
        for (int k = 0; k + 1 < a; ++k) sum += source_ends[i + k] ? paragraphs[2] : 0.0;
        for (int k = 0; k + 1 < b; ++k) sum += target_ends[j + k] ? paragraphs[1] : 0.0;
        return sum;
    }

    // From node (i, j) on; NEVER if the bead leaves the band.
    double score(i64 i, i64 j, i64 kind) const {
        const int a = kinds[2 * kind], b = kinds[2 * kind + 1];
        if (!band.has(i + a, j + b)) return NEVER;
        if (!a || !b) return log_kinds[kind];
        for (int k = 0; k < a; ++k)
            if (!band.has(i + k, j)) return NEVER;
        for (int k = 0; k < b; ++k)
            if (!band.has(i, j + k)) return NEVER;
        return log_kinds[kind] + lengths(i, j, a, b) + words(i, j, a, b) + ends(i, j, a, b);
    }
};

double log_add(double a, double b) {
    if (a < b) std::swap(a, b);
    return b == NEVER ? a : a + std::log1p(std::exp(b - a));
}

// Kinds of the beads from the start to the end of a path, from the last bead of each node on it.
std::vector<i32> trace(const Beads &beads, const std::vector<std::uint8_t> &last) {
    std::vector<i32> path;
    for (i64 i = beads.band.n, j = beads.band.m(); i || j;) {
        const std::uint8_t kind = last[beads.band.at(i, j)];
        if (kind >= beads.n_kinds) throw std::runtime_error("no path of beads stays in the band");
        path.push_back(kind);
        i -= beads.kinds[2 * kind];
        j -= beads.kinds[2 * kind + 1];
    }
    std::reverse(path.begin(), path.end());
    return path;
}

// Best scores of nodes row by row, of which only those that a bead can reach are held, and the last bead of every node.
struct Best {
    double score = NEVER;
    std::vector<i32> path;
};

Best best_path(const Beads &beads) {
    const Band &band = beads.band;
    std::vector<std::uint8_t> last(band.cells[band.n + 1], 255);
    std::array<std::vector<double>, MOST + 1> rows;
    const auto open = [&](i64 i) {
        if (i <= band.n) rows[i % (MOST + 1)].assign(band.stops[i] - band.starts[i], NEVER);
    };
    for (i64 i = 0; i <= MOST; ++i) open(i);
    rows[0][0] = 0.0;
    for (i64 i = 0; i <= band.n; ++i) {
        if (i) open(i + MOST);
        for (i64 j = band.starts[i]; j < band.stops[i]; ++j) {
            const double here = rows[i % (MOST + 1)][j - band.starts[i]];
            if (here == NEVER) continue;
            for (i64 k = 0; k < beads.n_kinds; ++k) {
                const double score = here + beads.score(i, j, k);
                if (score == NEVER) continue;
                const i64 to = i + beads.kinds[2 * k], column = j + beads.kinds[2 * k + 1];
                double &there = rows[to % (MOST + 1)][column - band.starts[to]];
                if (score > there) {
                    there = score;
                    last[band.at(to, column)] = std::uint8_t(k);
                }
            }
        }
    }
    return {rows[band.n % (MOST + 1)][band.m() - band.starts[band.n]], trace(beads, last)};
}

// Log-sums over all ways from the start to every node.
std::vector<double> sum_before(const Beads &beads) {
    const Band &band = beads.band;
    std::vector<double> sums(band.cells[band.n + 1], NEVER);
    sums[0] = 0.0;
    for (i64 i = 0; i <= band.n; ++i)
        for (i64 j = band.starts[i]; j < band.stops[i]; ++j) {
            const double here = sums[band.at(i, j)];
            if (here == NEVER) continue;
            for (i64 k = 0; k < beads.n_kinds; ++k) {
                const double score = here + beads.score(i, j, k);
                if (score == NEVER) continue;
                double &there = sums[band.at(i + beads.kinds[2 * k], j + beads.kinds[2 * k + 1])];
                there = log_add(there, score);
            }
        }
    return sums;
}

nb::tuple best_beads(const Beads &beads) {
    Best best;
    {
        const nb::gil_scoped_release released;
        best = best_path(beads);
    }
    return nb::make_tuple(as_array(std::move(best.path)), best.score);
}

// Probabilities of the beads of a path, expected numbers of beads of every kind, and the log-sum over all paths.
nb::tuple bead_posteriors(const Beads &beads, In<i32> path) {
    const Band &band = beads.band;
    std::vector<double> posteriors(path.shape(0)), counts(beads.n_kinds, 0.0);
    double total = NEVER;
    {
        const nb::gil_scoped_release released;
        const std::vector<double> before = sum_before(beads);
        total = before.back();
        std::array<std::vector<double>, MOST + 1> rows;
        i64 i = band.n, j = band.m(), step = i64(path.shape(0));  // where the path stands
        const auto back = [&] {
            if (!step) return;
            const i32 kind = path.data()[step - 1];
            if (kind < 0 || kind >= beads.n_kinds) throw std::invalid_argument("no path of beads");
            i -= beads.kinds[2 * kind];
            j -= beads.kinds[2 * kind + 1];
            --step;
        };
        back();
        for (i64 r = band.n; r >= 0; --r) {
            std::vector<double> &row = rows[r % (MOST + 1)];
            row.assign(band.stops[r] - band.starts[r], NEVER);
            for (i64 c = band.stops[r] - 1; c >= band.starts[r]; --c) {
                double &here = row[c - band.starts[r]];
                if (r == band.n && c == band.m()) here = 0.0;
                const bool on_path = r == i && c == j && step < i64(path.shape(0));
                for (i64 k = 0; k < beads.n_kinds; ++k) {
                    const double score = beads.score(r, c, k);
                    if (score == NEVER) continue;
                    const i64 to = r + beads.kinds[2 * k], column = c + beads.kinds[2 * k + 1];
                    const double after = score + rows[to % (MOST + 1)][column - band.starts[to]];
                    here = log_add(here, after);
                    const double posterior = std::exp(before[band.at(r, c)] + after - total);
                    counts[k] += posterior;
                    if (on_path && path.data()[step] == k) posteriors[step] = posterior;
                }
                if (on_path) back();
            }
        }
    }
    return nb::make_tuple(as_array(std::move(posteriors)), as_array(std::move(counts)), total);
}

}  // namespace

void bind_beads(nb::module_ &m) {
    using namespace nb::literals;
    m.def("explain_sentences", &explain_sentences, "words"_a, "offsets"_a, "other_words"_a, "other_offsets"_a,
          "rows"_a, "columns"_a, "ratios"_a, "n_other"_a, "floor"_a, "starts"_a, "stops"_a, "cells"_a, "backward"_a,
          "out"_a.noconvert());
    nb::class_<Beads>(m, "Beads")
        .def(nb::init<In<i64>, In<i64>, In<i64>, In2<i32>, In<double>, In2<double>, In2<double>, In2<double>,
                      In2<double>, double, double, In2<float>, In2<float>, In<std::uint8_t>, In<std::uint8_t>,
                      In<double>>(),
             "starts"_a, "stops"_a, "cells"_a, "kinds"_a, "log_kinds"_a, "source_lengths"_a, "precisions"_a,
             "target_lengths"_a, "backgrounds"_a, "log_ratio"_a, "floor"_a, "forward"_a, "backward"_a, "source_ends"_a,
             "target_ends"_a, "paragraphs"_a)
        .def("best", &best_beads)
        .def("posteriors", &bead_posteriors, "path"_a);
}
