// Sparse vectors of hashed terms, and an inverted index of them with bounded lists.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "sparse.hpp"

namespace {

using namespace isogloss;
using u8 = std::uint8_t;

std::vector<Entry> joined(const std::vector<Entry> &a, const std::vector<Entry> &b) {
    std::vector<Entry> out;
    out.reserve(a.size() + b.size());
    std::size_t i = 0, j = 0;
    while (i < a.size() || j < b.size()) {
        if (j == b.size() || (i < a.size() && a[i].id < b[j].id)) {
            out.push_back(a[i++]);
        } else if (i == a.size() || b[j].id < a[i].id) {
            out.push_back(b[j++]);
        } else {
            out.push_back({a[i].id, a[i].weight + b[j].weight});
            ++i, ++j;
        }
    }
    return out;
}

double length(const std::vector<Entry> &entries) {
    double sum = 0;
    for (const Entry &entry : entries) sum += entry.weight * entry.weight;
    return std::sqrt(sum);
}

void scale(std::vector<Entry> &entries, double factor) {
    for (Entry &entry : entries) entry.weight *= factor;
}

std::size_t hand_out(const std::vector<Entry> &entries, Out<i32> ids, Out<double> weights) {
    if (entries.size() > ids.shape(0) || ids.shape(0) != weights.shape(0))
        throw std::invalid_argument("no room for all terms");
    for (std::size_t i = 0; i < entries.size(); ++i) {
        ids.data()[i] = entries[i].id;
        weights.data()[i] = entries[i].weight;
    }
    return entries.size();
}

// A power of log(total / frequency), which is kept for the low frequencies that most terms have.
class Rarity {
  public:
    Rarity(double total, double power) : total_(total), power_(power) {}

    double of(i32 frequency) {
        const i32 known = std::max<i32>(1, frequency);
        if (known >= kKept) return value(known);
        if (kept_[known] == 0) kept_[known] = value(known);
        return kept_[known];
    }

  private:
    static constexpr i32 kKept = 64;

    double value(i32 frequency) const { return std::pow(std::max(1e-3, std::log(total_ / frequency)), power_); }

    double total_, power_, kept_[kKept] = {};
};

// Counts to a vector of length one: tf, or 1 + log tf, times a power of log(total / frequency).
std::vector<Entry> weighted(In<i32> ids, In<double> counts, const i32 *frequencies, double total, double power,
                            bool damped) {
    std::vector<Entry> out = entries_of(ids, counts, 1.0);
    Rarity rarity(total, power);
    for (Entry &entry : out) {
        const double tf = damped && entry.weight != 1 ? 1 + std::log(entry.weight) : entry.weight;
        entry.weight = tf * rarity.of(frequencies[entry.id]);
    }
    if (const double norm = length(out); norm > 0) scale(out, 1 / norm);
    return out;
}

// The terms of a title and a body, increasing, each counted once more among the frequencies.
std::size_t count_each(In<i32> title_ids, In<i32> body_ids, Out<i32> frequencies, Out<i32> counted) {
    if (title_ids.shape(0) + body_ids.shape(0) > counted.shape(0)) throw std::invalid_argument("no room for all terms");
    const i32 *end = std::set_union(title_ids.data(), title_ids.data() + title_ids.shape(0), body_ids.data(),
                                    body_ids.data() + body_ids.shape(0), counted.data());
    const std::size_t n = static_cast<std::size_t>(end - counted.data());
    for (std::size_t i = 0; i < n; ++i)
        if (counted.data()[i] < 0 || static_cast<std::size_t>(counted.data()[i]) >= frequencies.shape(0))
            throw std::invalid_argument("a term has no frequency");
    for (std::size_t i = 0; i < n; ++i) fetch(frequencies.data() + counted.data()[i], 1);
    for (std::size_t i = 0; i < n; ++i) ++frequencies.data()[counted.data()[i]];
    return n;
}

// Counts the different terms of a title and a body, and makes their vector of length one, of the strongest terms: how
// many were counted, and how many the vector has.
std::pair<std::size_t, std::size_t> weigh_article(In<i32> title_ids, In<double> title_counts, In<i32> body_ids,
                                                  In<double> body_counts, Out<i32> frequencies, double total,
                                                  double body_weight, double body_power, std::size_t most,
                                                  Out<i32> counted, Out<i32> ids, Out<double> weights) {
    if (title_ids.shape(0) != title_counts.shape(0) || body_ids.shape(0) != body_counts.shape(0))
        throw std::invalid_argument("lengths differ");
    if (ids.shape(0) != weights.shape(0) || ids.shape(0) < std::min(most, title_ids.shape(0) + body_ids.shape(0)))
        throw std::invalid_argument("no room for all terms");
    const std::size_t n = count_each(title_ids, body_ids, frequencies, counted);
    const std::vector<Entry> title = weighted(title_ids, title_counts, frequencies.data(), total, 1.0, false);
    std::vector<Entry> body = weighted(body_ids, body_counts, frequencies.data(), total, body_power, true);
    scale(body, body_weight);
    std::vector<Entry> all = joined(title, body);
    keep_strongest(all, most);
    if (const double norm = length(all); norm > 0) scale(all, 1 / norm);
    return {n, hand_out(all, ids, weights)};
}

// a + factor b without what is not positive, of the strongest terms; ids are increasing.
std::size_t add_sparse(In<i32> a_ids, In<double> a_weights, In<i32> b_ids, In<double> b_weights, double factor,
                       std::size_t most, Out<i32> ids, Out<double> weights) {
    std::vector<Entry> all = joined(entries_of(a_ids, a_weights, 1.0), entries_of(b_ids, b_weights, factor));
    all.erase(std::remove_if(all.begin(), all.end(), [](const Entry &e) { return e.weight <= 1e-9; }), all.end());
    keep_strongest(all, most);
    return hand_out(all, ids, weights);
}

double dot_sparse(In<i32> a_ids, In<double> a_weights, In<i32> b_ids, In<double> b_weights) {
    if (a_ids.shape(0) != a_weights.shape(0) || b_ids.shape(0) != b_weights.shape(0))
        throw std::invalid_argument("lengths differ");
    const i32 *a = a_ids.data(), *b = b_ids.data();
    const std::size_t n = a_ids.shape(0), m = b_ids.shape(0);
    double sum = 0;
    for (std::size_t i = 0, j = 0; i < n && j < m;) {
        if (a[i] == b[j]) sum += a_weights.data()[i] * b_weights.data()[j];
        const i32 x = a[i], y = b[j];
        i += x <= y;
        j += y <= x;
    }
    return sum;
}

// The inner products of a vector and each of several, given as pairs of arrays.
void dot_each(In<i32> ids, In<double> weights, nb::list vectors, Out<double> products) {
    if (vectors.size() != products.shape(0)) throw std::invalid_argument("lengths differ");
    const Probe probe = probe_of(ids, weights);
    // The list holds the arrays, and the caller the list, while the GIL is released.
    std::vector<std::pair<const i32 *, const double *>> spans;
    std::vector<std::size_t> lengths;
    for (const nb::handle vector : vectors) {
        const nb::tuple pair = nb::cast<nb::tuple>(vector);
        const auto own_ids = fixed<In<i32>>(pair[0]);
        const auto own_weights = fixed<In<double>>(pair[1]);
        if (own_ids.shape(0) != own_weights.shape(0)) throw std::invalid_argument("lengths differ");
        spans.emplace_back(own_ids.data(), own_weights.data());
        lengths.push_back(own_ids.shape(0));
    }
    const nb::gil_scoped_release released;
    for (std::size_t i = 0; i < spans.size(); ++i)
        products.data()[i] = probe.dot(spans[i].first, spans[i].second, lengths[i]);
}

// Writes a cluster into the lists of the strongest terms; where it is listed already nothing changes.
void list_cluster(Out2<i32> lists, Out<u8> next, In<i32> ids, In<double> weights, std::size_t most, i32 cluster) {
    const std::size_t room = lists.shape(1);
    if (next.shape(0) != lists.shape(0) || room < 1 || room > 255) throw std::invalid_argument("shapes differ");
    for (const Entry &term : terms_of(ids, weights, most, lists.shape(0))) {
        i32 *list = lists.data() + static_cast<std::size_t>(term.id) * room;
        if (std::find(list, list + room, cluster) != list + room) continue;
        u8 &place = next.data()[term.id];
        list[place] = cluster;
        place = static_cast<u8>((place + 1u) % room);
    }
}

std::size_t find_clusters(In2<i32> lists, In<i32> ids, In<double> weights, std::size_t most, Out<i32> clusters) {
    const std::vector<Entry> found = listed(lists, terms_of(ids, weights, most, lists.shape(0)), clusters.shape(0));
    for (std::size_t i = 0; i < found.size(); ++i) clusters.data()[i] = found[i].id;
    return found.size();
}

}  // namespace

void bind_postings(nb::module_ &m) {
    using released = nb::call_guard<nb::gil_scoped_release>;
    m.def("weigh_article", &weigh_article, nb::arg("title_ids"), nb::arg("title_counts"), nb::arg("body_ids"),
          nb::arg("body_counts"), nb::arg("frequencies").noconvert(), nb::arg("total"), nb::arg("body_weight"),
          nb::arg("body_power"), nb::arg("most"), nb::arg("counted").noconvert(), nb::arg("ids").noconvert(),
          nb::arg("weights").noconvert(), released());
    m.def("add_sparse", &add_sparse, nb::arg("a_ids"), nb::arg("a_weights"), nb::arg("b_ids"), nb::arg("b_weights"),
          nb::arg("factor"), nb::arg("most"), nb::arg("ids").noconvert(), nb::arg("weights").noconvert(), released());
    m.def("dot_sparse", &dot_sparse, nb::arg("a_ids"), nb::arg("a_weights"), nb::arg("b_ids"), nb::arg("b_weights"),
          released());
    m.def("dot_each", &dot_each, nb::arg("ids"), nb::arg("weights"), nb::arg("vectors"),
          nb::arg("products").noconvert());
    m.def("list_cluster", &list_cluster, nb::arg("lists").noconvert(), nb::arg("next").noconvert(), nb::arg("ids"),
          nb::arg("weights"), nb::arg("most"), nb::arg("cluster"), released());
    m.def("find_clusters", &find_clusters, nb::arg("lists").noconvert(), nb::arg("ids"), nb::arg("weights"),
          nb::arg("most"), nb::arg("clusters").noconvert(), released());
}
