// Sparse vectors of hashed terms, and an inverted index of them with bounded lists.
//
// A call takes microseconds, so the GIL is kept: another thread that got it in between would keep it for longer.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "arrays.hpp"

namespace {

using namespace isogloss;
using u8 = std::uint8_t;
using u64 = std::uint64_t;

constexpr u64 kOffset = 0xcbf29ce484222325ULL, kPrime = 0x100000001b3ULL;

// FNV-1a, its high bits folded into the low ones that remain.
i32 hash_term(std::string_view bytes, u64 seed, u64 mask) {
    u64 h = kOffset ^ (seed * kPrime);
    for (const char byte : bytes) h = (h ^ static_cast<u8>(byte)) * kPrime;
    return static_cast<i32>((h ^ (h >> 32)) & mask);
}

bool starts_letter(char byte) { return (static_cast<u8>(byte) & 0xC0) != 0x80; }

// The first letters of a word.
std::string_view cut(std::string_view word, std::size_t letters) {
    std::size_t seen = 0;
    for (std::size_t i = 0; i < word.size(); ++i)
        if (starts_letter(word[i]) && seen++ == letters) return word.substr(0, i);
    return word;
}

// All sequences of letters of a word that has a blank at either end; the whole of a short one.
void hash_grams(std::string_view padded, std::size_t letters, u64 seed, u64 mask, std::vector<i32> &found) {
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < padded.size(); ++i)
        if (starts_letter(padded[i])) starts.push_back(i);
    const std::size_t n = starts.size();
    starts.push_back(padded.size());
    for (std::size_t i = 0; i == 0 || i + letters <= n; ++i) {
        const std::size_t end = starts[std::min(n, i + letters)];
        found.push_back(hash_term(padded.substr(starts[i], end - starts[i]), seed, mask));
    }
}

// The numbers of the terms of words with one blank before, between and after them, and how often each occurs.
std::size_t count_terms(nb::bytes text, u64 seed, std::size_t stem, std::size_t gram, i32 size, Out<i32> ids,
                        Out<double> counts) {
    if (size < 1 || (size & (size - 1))) throw std::invalid_argument("size is not a power of two");
    const std::string_view words(text.c_str(), text.size());
    const u64 mask = static_cast<u64>(size) - 1;
    std::vector<i32> found;
    for (std::size_t start = 0; start + 1 < words.size();) {
        const std::size_t end = std::min(words.find(' ', start + 1), words.size());
        if (end > start + 1) found.push_back(hash_term(cut(words.substr(start + 1, end - start - 1), stem), seed, mask));
        if (end > start + 1 && gram)
            hash_grams(words.substr(start, end + 1 - start), gram, seed + 1, mask, found);
        start = end;
    }
    if (found.size() > ids.shape(0) || ids.shape(0) != counts.shape(0))
        throw std::invalid_argument("no room for all terms");
    std::sort(found.begin(), found.end());
    std::size_t n = 0;
    for (std::size_t i = 0; i < found.size(); ++n) {
        std::size_t next = i;
        while (next < found.size() && found[next] == found[i]) ++next;
        ids.data()[n] = found[i];
        counts.data()[n] = static_cast<double>(next - i);
        i = next;
    }
    return n;
}

struct Entry {
    i32 id;
    double weight;
};

bool stronger(const Entry &a, const Entry &b) { return a.weight != b.weight ? a.weight > b.weight : a.id < b.id; }

// Keeps the entries of most weight, in the order of their numbers.
void keep_strongest(std::vector<Entry> &entries, std::size_t most) {
    if (entries.size() <= most) return;
    std::nth_element(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(most), entries.end(), stronger);
    entries.resize(most);
    std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) { return a.id < b.id; });
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
    for (std::size_t i = 0; i < products.shape(0); ++i) {
        const nb::tuple pair = nb::cast<nb::tuple>(vectors[i]);
        products.data()[i] = dot_sparse(ids, weights, nb::cast<In<i32>>(pair[0]), nb::cast<In<double>>(pair[1]));
    }
}

std::vector<Entry> terms_of(In<i32> ids, In<double> weights, std::size_t most, std::size_t rows) {
    std::vector<Entry> terms = entries_of(ids, weights, 1.0);
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

// The entry of a cluster in a table whose size is a power of two and which is never full.
Entry &place_of(std::vector<Entry> &table, i32 cluster) {
    std::size_t i = (static_cast<u64>(cluster) * kPrime >> 8) & (table.size() - 1);
    while (table[i].id && table[i].id != cluster) i = (i + 1) & (table.size() - 1);
    table[i].id = cluster;
    return table[i];
}

// The clusters listed under most of the squared weight of the strongest terms, the best first, then the oldest.
std::size_t find_clusters(In2<i32> lists, In<i32> ids, In<double> weights, std::size_t most, Out<i32> clusters) {
    const std::size_t room = lists.shape(1);
    const std::vector<Entry> terms = terms_of(ids, weights, most, lists.shape(0));
    std::size_t size = 16;
    while (size < 2 * terms.size() * room) size *= 2;
    std::vector<Entry> table(size, Entry{0, 0.0}), found;
    for (const Entry &term : terms) {
        const i32 *list = lists.data() + static_cast<std::size_t>(term.id) * room;
        for (std::size_t i = 0; i < room && list[i]; ++i) place_of(table, list[i]).weight += term.weight * term.weight;
    }
    for (const Entry &entry : table)
        if (entry.id) found.push_back(entry);
    const std::size_t wanted = std::min(found.size(), clusters.shape(0));
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(wanted), found.end(), stronger);
    for (std::size_t i = 0; i < wanted; ++i) clusters.data()[i] = found[i].id;
    return wanted;
}

}  // namespace

void bind_postings(nb::module_ &m) {
    m.def("count_terms", &count_terms, nb::arg("text"), nb::arg("seed"), nb::arg("stem"), nb::arg("gram"),
          nb::arg("size"), nb::arg("ids").noconvert(), nb::arg("counts").noconvert());
    m.def("weigh_terms", &weigh_terms, nb::arg("title_ids"), nb::arg("title_counts"), nb::arg("body_ids"),
          nb::arg("body_counts"), nb::arg("frequencies"), nb::arg("total"), nb::arg("body_weight"),
          nb::arg("body_power"), nb::arg("most"),
          nb::arg("ids").noconvert(), nb::arg("weights").noconvert());
    m.def("add_sparse", &add_sparse, nb::arg("a_ids"), nb::arg("a_weights"), nb::arg("b_ids"), nb::arg("b_weights"),
          nb::arg("factor"), nb::arg("most"), nb::arg("ids").noconvert(), nb::arg("weights").noconvert());
    m.def("dot_sparse", &dot_sparse, nb::arg("a_ids"), nb::arg("a_weights"), nb::arg("b_ids"), nb::arg("b_weights"));
    m.def("dot_each", &dot_each, nb::arg("ids"), nb::arg("weights"), nb::arg("vectors"),
          nb::arg("products").noconvert());
    m.def("list_cluster", &list_cluster, nb::arg("lists").noconvert(), nb::arg("next").noconvert(), nb::arg("ids"),
          nb::arg("weights"), nb::arg("most"), nb::arg("cluster"));
    m.def("find_clusters", &find_clusters, nb::arg("lists").noconvert(), nb::arg("ids"), nb::arg("weights"),
          nb::arg("most"), nb::arg("clusters").noconvert());
}
