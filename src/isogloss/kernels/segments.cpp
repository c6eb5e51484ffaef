// Of each of several collections, the rows nearest to one vector, found in one go.
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "products.hpp"

namespace {

using namespace isogloss;

// A stretch of a collection: vectors with ids and times, some of them no longer there.
struct Segment {
    In2<float> vectors;
    In<i64> ids;
    In<bool> live;
    In<double> times;

    explicit Segment(const nb::handle &parts)
        : vectors(fixed<In2<float>>(parts[0])), ids(fixed<In<i64>>(parts[1])), live(fixed<In<bool>>(parts[2])),
          times(fixed<In<double>>(parts[3])) {
        const std::size_t n = vectors.shape(0);
        if (ids.shape(0) != n || live.shape(0) != n || times.shape(0) != n)
            throw std::invalid_argument("lengths differ");
    }
};

// From when on and until when rows are wanted, each of them only if it is a number; a row without time is in no span.
struct Span {
    double since, until;

    bool has(double time) const { return !(since == since && !(time >= since)) && !(until == until && !(time < until)); }
};

struct Near {
    double score;
    i64 id;
    const float *row;
};

// Equal scores come in the order of ids.
bool before(const Near &a, const Near &b) { return a.score != b.score ? a.score > b.score : a.id < b.id; }

// Keeps the best: a heap with the worst of them on top.
void offer(std::vector<Near> &best, std::size_t k, const Near &one) {
    if (best.size() == k) {
        if (!before(one, best.front())) return;
        std::pop_heap(best.begin(), best.end(), before);
        best.pop_back();
    }
    best.push_back(one);
    std::push_heap(best.begin(), best.end(), before);
}

std::vector<Near> nearest(const std::vector<Segment> &segments, const float *query, std::size_t d, Span span,
                          std::size_t k) {
    std::vector<Near> best;
    for (const Segment &one : segments)
        for (std::size_t r = 0; r < one.ids.shape(0); ++r) {
            if (!one.live.data()[r] || !span.has(one.times.data()[r])) continue;
            const float *row = one.vectors.data() + r * d;
            offer(best, k, {inner_product(query, row, d), one.ids.data()[r], row});
        }
    std::sort_heap(best.begin(), best.end(), before);
    return best;
}

// Collections are lists of segments: vectors, ids, which are there, and times. Places of which there are too few rows
// are left as they were.
void nearest_of_each(In<float> query, nb::list collections, double since, double until, Out2<double> scores,
                     Out2<i64> ids, Out2<float> vectors) {
    const std::size_t d = query.shape(0), n = scores.shape(0), k = scores.shape(1);
    if (ids.shape(0) != n || ids.shape(1) != k || vectors.shape(0) != n * k || vectors.shape(1) != d ||
        collections.size() != n || !k)
        throw std::invalid_argument("shapes differ");
    // The caller holds the list, and it the arrays, while the GIL is released.
    std::vector<std::vector<Segment>> all(n);
    for (std::size_t i = 0; i < n; ++i)
        for (const nb::handle parts : nb::cast<nb::list>(collections[i])) {
            all[i].emplace_back(parts);
            if (all[i].back().vectors.shape(1) != d) throw std::invalid_argument("dimensions differ");
        }
    const nb::gil_scoped_release released;
    for (std::size_t i = 0; i < n; ++i) {
        const std::vector<Near> best = nearest(all[i], query.data(), d, {since, until}, k);
        for (std::size_t j = 0; j < best.size(); ++j) {
            scores.data()[i * k + j] = best[j].score;
            ids.data()[i * k + j] = best[j].id;
            std::copy_n(best[j].row, d, vectors.data() + (i * k + j) * d);
        }
    }
}

}  // namespace

void bind_segments(nb::module_ &m) {
    using namespace nb::literals;
    m.def("nearest_of_each", &nearest_of_each, "query"_a, "collections"_a, "since"_a, "until"_a,
          "scores"_a.noconvert(), "ids"_a.noconvert(), "vectors"_a.noconvert());
}
