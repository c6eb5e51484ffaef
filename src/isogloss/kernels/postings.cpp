// Sparse vectors of hashed terms, and an inverted index of them with bounded lists.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "arrays.hpp"

namespace {

using namespace isogloss;
using u8 = std::uint8_t;
using u64 = std::uint64_t;

constexpr u64 kPrime = 0x100000001b3ULL;  // spreads numbers over a table

struct Entry {
    i32 id;
    double weight;
};

// Asks for memory ahead of its use.
void fetch(const i32 *values, std::size_t n) {
#if defined(__GNUC__)
    for (std::size_t i = 0; i < n; i += 16) __builtin_prefetch(values + i);
#else
    (void)values, (void)n;
#endif
}

bool stronger(const Entry &a, const Entry &b) { return a.weight != b.weight ? a.weight > b.weight : a.id < b.id; }

// Keeps the entries of most weight, in the order that they are in, which is that of their numbers.
void keep_strongest(std::vector<Entry> &entries, std::size_t most) {
    if (entries.size() <= most) return;
    if (!most) return entries.clear();
    std::vector<double> weights(entries.size());
    std::transform(entries.begin(), entries.end(), weights.begin(), [](const Entry &entry) { return entry.weight; });
    const auto last = weights.begin() + static_cast<std::ptrdiff_t>(most) - 1;
    std::nth_element(weights.begin(), last, weights.end(), std::greater<>());
    const double least = *last;
    std::size_t equal = most - static_cast<std::size_t>(std::count_if(
                                   weights.begin(), last, [least](double weight) { return weight > least; }));
    entries.erase(std::remove_if(entries.begin(), entries.end(),
                                 [least, &equal](const Entry &entry) {
                                     if (entry.weight != least) return entry.weight < least;
                                     return !equal || !equal--;
                                 }),
                  entries.end());
}

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

std::vector<Entry> entries_of(In<i32> ids, In<double> weights, double factor) {
    if (ids.shape(0) != weights.shape(0)) throw std::invalid_argument("lengths differ");
    std::vector<Entry> out(ids.shape(0));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = {ids.data()[i], factor * weights.data()[i]};
    return out;
}

// Counts to a vector of length one: tf, or 1 + log tf, times a power of log(total / frequency).
std::vector<Entry> weighted(In<i32> ids, In<double> counts, In<i32> frequencies, double total, double power,
                            bool damped) {
    std::vector<Entry> out = entries_of(ids, counts, 1.0);
    for (Entry &entry : out) {
        if (entry.id < 0 || static_cast<std::size_t>(entry.id) >= frequencies.shape(0))
            throw std::invalid_argument("a term has no frequency");
        const double idf = std::max(1e-3, std::log(total / std::max<i32>(1, frequencies.data()[entry.id])));
        entry.weight = (damped ? 1 + std::log(entry.weight) : entry.weight) * std::pow(idf, power);
    }
    if (const double norm = length(out); norm > 0) scale(out, 1 / norm);
    return out;
}

// The vector of length one of a title and a body, of the strongest terms.
std::size_t weigh_terms(In<i32> title_ids, In<double> title_counts, In<i32> body_ids, In<double> body_counts,
                        In<i32> frequencies, double total, double body_weight, double body_power,
                        std::size_t most, Out<i32> ids,
                        Out<double> weights) {
    const std::vector<Entry> title = weighted(title_ids, title_counts, frequencies, total, 1.0, false);
    std::vector<Entry> body = weighted(body_ids, body_counts, frequencies, total, body_power, true);
    scale(body, body_weight);
    std::vector<Entry> all = joined(title, body);
    keep_strongest(all, most);
    if (const double norm = length(all); norm > 0) scale(all, 1 / norm);
    return hand_out(all, ids, weights);
}

// The terms of a title and a body, increasing, each counted once more among the frequencies.
std::size_t count_article(In<i32> title_ids, In<i32> body_ids, Out<i32> frequencies, Out<i32> ids) {
    if (title_ids.shape(0) + body_ids.shape(0) > ids.shape(0)) throw std::invalid_argument("no room for all terms");
    const i32 *end = std::set_union(title_ids.data(), title_ids.data() + title_ids.shape(0), body_ids.data(),
                                    body_ids.data() + body_ids.shape(0), ids.data());
    const std::size_t n = static_cast<std::size_t>(end - ids.data());
    if (n && (ids.data()[0] < 0 || static_cast<std::size_t>(end[-1]) >= frequencies.shape(0)))
        throw std::invalid_argument("a term has no frequency");
    for (std::size_t i = 0; i < n; ++i) ++frequencies.data()[ids.data()[i]];
    return n;
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

// A vector that many are multiplied with: its terms in a table, and bits that tell most of the others at once.
class Probe {
  public:
    Probe(const i32 *ids, const double *weights, std::size_t n) {
        while (table_.size() < 2 * n) table_.resize(2 * table_.size(), {-1, 0.0});
        for (std::size_t i = 0; i < n; ++i) {
            bits_[(ids[i] & kMask) >> 6] |= u64{1} << (ids[i] & 63);
            table_[place(ids[i])] = {ids[i], weights[i]};
        }
    }

    // The inner product with a vector, added up in the order of its terms.
    double dot(const i32 *ids, const double *weights, std::size_t n) const {
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
            if (!(bits_[(ids[i] & kMask) >> 6] >> (ids[i] & 63) & 1)) continue;
            const Entry &entry = table_[place(ids[i])];
            if (entry.id == ids[i]) sum += entry.weight * weights[i];
        }
        return sum;
    }

  private:
    static constexpr i32 kMask = (1 << 13) - 1;

    // Where a term is, or would be.
    std::size_t place(i32 id) const {
        std::size_t i = (static_cast<u64>(id) * kPrime >> 8) & (table_.size() - 1);
        while (table_[i].id >= 0 && table_[i].id != id) i = (i + 1) & (table_.size() - 1);
        return i;
    }

    u64 bits_[(kMask + 1) / 64] = {};
    std::vector<Entry> table_ = std::vector<Entry>(16, Entry{-1, 0.0});
};

Probe probe_of(In<i32> ids, In<double> weights) {
    if (ids.shape(0) != weights.shape(0)) throw std::invalid_argument("lengths differ");
    if (std::any_of(ids.data(), ids.data() + ids.shape(0), [](i32 id) { return id < 0; }))
        throw std::invalid_argument("a term is negative");
    return Probe(ids.data(), weights.data(), ids.shape(0));
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

std::vector<Entry> terms_of(In<i32> ids, In<double> weights, std::size_t most, std::size_t rows) {
    std::vector<Entry> terms = entries_of(ids, weights, 1.0);
    if (terms.size() > most) std::sort(terms.begin(), terms.end(), [](const Entry &a, const Entry &b) { return a.id < b.id; });
    keep_strongest(terms, most);
    for (const Entry &term : terms)
        if (term.id < 0 || static_cast<std::size_t>(term.id) >= rows) throw std::invalid_argument("a term has no list");
    return terms;
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

// Sums of weights by number, in the order in which numbers came; the table, a power of two, is never full.
class Tally {
  public:
    explicit Tally(std::size_t most) {
        std::size_t size = 16;
        while (size < 2 * most) size *= 2;
        table_.assign(size, 0);
    }

    void add(i32 id, double weight) {
        std::size_t i = (static_cast<u64>(id) * kPrime >> 8) & (table_.size() - 1);
        while (table_[i] && found_[table_[i] - 1].id != id) i = (i + 1) & (table_.size() - 1);
        if (!table_[i]) {
            found_.push_back({id, 0.0});
            table_[i] = static_cast<std::uint32_t>(found_.size());
        }
        found_[table_[i] - 1].weight += weight;
    }

    // The entries of most weight, the strongest first, then those of lower numbers.
    std::vector<Entry> best(std::size_t wanted) {
        wanted = std::min(found_.size(), wanted);
        const auto end = found_.begin() + static_cast<std::ptrdiff_t>(wanted);
        if (wanted < found_.size()) std::nth_element(found_.begin(), end, found_.end(), stronger);
        std::sort(found_.begin(), end, stronger);
        found_.resize(wanted);
        return std::move(found_);
    }

  private:
    std::vector<std::uint32_t> table_;
    std::vector<Entry> found_;
};

// What is listed under most of the squared weight of the strongest terms, the best first, then the oldest.
std::vector<Entry> listed(In2<i32> lists, const std::vector<Entry> &terms, std::size_t wanted) {
    const std::size_t room = lists.shape(1);
    const auto list_of = [&](const Entry &term) { return lists.data() + static_cast<std::size_t>(term.id) * room; };
    for (const Entry &term : terms) fetch(list_of(term), room);
    Tally tally(terms.size() * room);
    for (const Entry &term : terms) {
        const i32 *list = list_of(term);
        for (std::size_t i = 0; i < room && list[i]; ++i) tally.add(list[i], term.weight * term.weight);
    }
    return tally.best(wanted);
}

std::size_t find_clusters(In2<i32> lists, In<i32> ids, In<double> weights, std::size_t most, Out<i32> clusters) {
    const std::vector<Entry> found = listed(lists, terms_of(ids, weights, most, lists.shape(0)), clusters.shape(0));
    for (std::size_t i = 0; i < found.size(); ++i) clusters.data()[i] = found[i].id;
    return found.size();
}

// Where the vectors of a shelf are. The place of a number is where the table says, one less, if that place is its own.
struct Shelf {
    In<i32> table, owners;
    In2<i32> ids;
    In2<double> weights;
    In<i32> lengths, groups;

    void check() const {
        const std::size_t places = owners.shape(0), slots = table.shape(0);
        if (ids.shape(0) != places || weights.shape(0) != places || weights.shape(1) != ids.shape(1) ||
            lengths.shape(0) != places || groups.shape(0) != places || !slots || (slots & (slots - 1)))
            throw std::invalid_argument("shapes differ");
    }

    // The place of a number that is there and not of a group, or -1.
    i32 find(i32 number, i32 group) const {
        const i32 place = table.data()[static_cast<std::size_t>(number) & (table.shape(0) - 1)] - 1;
        if (place < 0 || static_cast<std::size_t>(place) >= owners.shape(0)) return -1;
        return owners.data()[place] == number && groups.data()[place] != group ? place : -1;
    }

    double product(const Probe &probe, i32 place) const {
        const std::size_t width = ids.shape(1), start = static_cast<std::size_t>(place) * width;
        const std::size_t length = std::min(width, static_cast<std::size_t>(lengths.data()[place]));
        return probe.dot(ids.data() + start, weights.data() + start, length);
    }
};

// For each of several sets of lists: of those listed best, the ones on the shelf and of other groups whose inner
// products with the vector are highest and not too small; of equal ones the later. They come by ascending number.
std::size_t find_nearest(nb::list lists, In<i32> folded, In<i32> ids, In<double> weights, std::size_t most,
                         std::size_t compared, std::size_t k, In<i32> table, In<i32> owners, In2<i32> shelf_ids,
                         In2<double> shelf_weights, In<i32> lengths, In<i32> groups, i32 group, double least,
                         Out<i32> numbers, Out<double> products) {
    const Shelf shelf{table, owners, shelf_ids, shelf_weights, lengths, groups};
    shelf.check();
    // The caller holds the list, and it the arrays, while the GIL is released.
    std::vector<In2<i32>> sets;
    for (const nb::handle one : lists) {
        sets.push_back(fixed<In2<i32>>(one));
        if (sets.back().shape(0) != sets.front().shape(0)) throw std::invalid_argument("shapes differ");
    }
    if (numbers.shape(0) != products.shape(0) || numbers.shape(0) < k * sets.size())
        throw std::invalid_argument("shapes differ");
    const nb::gil_scoped_release released;
    const Probe probe = probe_of(ids, weights);
    if (sets.empty()) return 0;
    const std::vector<Entry> terms = terms_of(folded, weights, most, sets.front().shape(0));
    std::vector<Entry> found, near;
    for (const In2<i32> &set : sets) {
        near.clear();
        for (const Entry &entry : listed(set, terms, compared)) {
            const i32 place = shelf.find(entry.id, group);
            if (place < 0) continue;
            const double product = shelf.product(probe, place);
            if (product >= least) near.push_back({entry.id, product});
        }
        std::sort(near.begin(), near.end(), [](const Entry &a, const Entry &b) {
            return a.weight != b.weight ? a.weight > b.weight : a.id > b.id;
        });
        found.insert(found.end(), near.begin(), near.begin() + static_cast<std::ptrdiff_t>(std::min(k, near.size())));
    }
    std::sort(found.begin(), found.end(), [](const Entry &a, const Entry &b) { return a.id < b.id; });
    for (std::size_t i = 0; i < found.size(); ++i) {
        numbers.data()[i] = found[i].id;
        products.data()[i] = found[i].weight;
    }
    return found.size();
}

}  // namespace

void bind_postings(nb::module_ &m) {
    using released = nb::call_guard<nb::gil_scoped_release>;
    m.def("weigh_terms", &weigh_terms, nb::arg("title_ids"), nb::arg("title_counts"), nb::arg("body_ids"),
          nb::arg("body_counts"), nb::arg("frequencies"), nb::arg("total"), nb::arg("body_weight"),
          nb::arg("body_power"), nb::arg("most"),
          nb::arg("ids").noconvert(), nb::arg("weights").noconvert(), released());
    m.def("count_article", &count_article, nb::arg("title_ids"), nb::arg("body_ids"),
          nb::arg("frequencies").noconvert(), nb::arg("ids").noconvert(), released());
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
    m.def("find_nearest", &find_nearest, nb::arg("lists"), nb::arg("folded"), nb::arg("ids"), nb::arg("weights"),
          nb::arg("most"), nb::arg("compared"), nb::arg("k"), nb::arg("table"), nb::arg("owners"),
          nb::arg("shelf_ids").noconvert(), nb::arg("shelf_weights").noconvert(), nb::arg("lengths"),
          nb::arg("groups"), nb::arg("group"), nb::arg("least"), nb::arg("numbers").noconvert(),
          nb::arg("products").noconvert());
}
