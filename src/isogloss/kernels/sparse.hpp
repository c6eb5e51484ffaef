// Sparse vectors of hashed terms, products of one and many, and what is listed under the strongest terms of one.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "simd.hpp"

namespace isogloss {

using u64 = std::uint64_t;

constexpr u64 kPrime = 0x100000001b3ULL;  // spreads numbers over a table

struct Entry {
    i32 id;
    double weight;
};

// Asks for memory ahead of its use.
inline void fetch(const i32 *values, std::size_t n) {
    for (std::size_t i = 0; i < n; i += 16) ISOGLOSS_PREFETCH(values + i, 0);
}

inline bool stronger(const Entry &a, const Entry &b) { return a.weight != b.weight ? a.weight > b.weight : a.id < b.id; }

// Keeps the entries of most weight, in the order that they are in, which is that of their numbers.
inline void keep_strongest(std::vector<Entry> &entries, std::size_t most) {
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

inline std::vector<Entry> entries_of(In<i32> ids, In<double> weights, double factor) {
    if (ids.shape(0) != weights.shape(0)) throw std::invalid_argument("lengths differ");
    std::vector<Entry> out(ids.shape(0));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = {ids.data()[i], factor * weights.data()[i]};
    return out;
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

inline Probe probe_of(In<i32> ids, In<double> weights) {
    if (ids.shape(0) != weights.shape(0)) throw std::invalid_argument("lengths differ");
    if (std::any_of(ids.data(), ids.data() + ids.shape(0), [](i32 id) { return id < 0; }))
        throw std::invalid_argument("a term is negative");
    return Probe(ids.data(), weights.data(), ids.shape(0));
}

inline std::vector<Entry> terms_of(In<i32> ids, In<double> weights, std::size_t most, std::size_t rows) {
    std::vector<Entry> terms = entries_of(ids, weights, 1.0);
    if (terms.size() > most) std::sort(terms.begin(), terms.end(), [](const Entry &a, const Entry &b) { return a.id < b.id; });
    keep_strongest(terms, most);
    for (const Entry &term : terms)
        if (term.id < 0 || static_cast<std::size_t>(term.id) >= rows) throw std::invalid_argument("a term has no list");
    return terms;
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
inline std::vector<Entry> listed(In2<i32> lists, const std::vector<Entry> &terms, std::size_t wanted) {
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

}  // namespace isogloss
