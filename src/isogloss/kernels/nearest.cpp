// The vectors of a shelf that are nearest to another one.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "sparse.hpp"

namespace {

using namespace isogloss;

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

// A vector of the shelf: its number, its place, and its inner product with the one that is looked for.
struct Near {
    i32 number, place;
    double product;
};

// Of what is listed best, the vectors on the shelf and of other groups whose inner products are highest and not too
// small; of equal ones the later.
void add_listed(In2<i32> lists, const std::vector<Entry> &terms, std::size_t compared, std::size_t k, const Shelf &shelf,
                const Probe &probe, i32 group, double least, std::vector<Near> &found) {
    std::vector<Near> near;
    for (const Entry &entry : listed(lists, terms, compared)) {
        const i32 place = shelf.find(entry.id, group);
        if (place < 0) continue;
        const double product = shelf.product(probe, place);
        if (product >= least) near.push_back({entry.id, place, product});
    }
    std::sort(near.begin(), near.end(), [](const Near &a, const Near &b) {
        return a.product != b.product ? a.product > b.product : a.number > b.number;
    });
    found.insert(found.end(), near.begin(), near.begin() + static_cast<std::ptrdiff_t>(std::min(k, near.size())));
}

// Vectors that are known to be close, if they are on the shelf and of other groups and not found yet.
void add_close(In<i32> close, const Shelf &shelf, const Probe &probe, i32 group, std::vector<Near> &found) {
    const auto before = [](const Near &a, const Near &b) { return a.number < b.number; };
    std::sort(found.begin(), found.end(), before);
    const std::size_t n = found.size();
    for (std::size_t i = 0; i < close.shape(0); ++i) {
        const i32 number = close.data()[i], place = shelf.find(number, group);
        const auto known = found.begin() + static_cast<std::ptrdiff_t>(n);
        if (place < 0 || std::binary_search(found.begin(), known, Near{number, 0, 0.0}, before)) continue;
        found.push_back({number, place, shelf.product(probe, place)});
    }
    std::sort(found.begin(), found.end(), before);
}

// The nearest by each of several sets of lists, and those that are known to be close: their numbers, ascending, inner
// products and groups.
std::size_t find_nearest(nb::list lists, In<i32> folded, In<i32> ids, In<double> weights, std::size_t most,
                         std::size_t compared, std::size_t k, In<i32> table, In<i32> owners, In2<i32> shelf_ids,
                         In2<double> shelf_weights, In<i32> lengths, In<i32> groups, i32 group, double least,
                         In<i32> close, Out<i32> numbers, Out<double> products, Out<i32> own_groups) {
    const Shelf shelf{table, owners, shelf_ids, shelf_weights, lengths, groups};
    shelf.check();
    // The caller holds the list, and it the arrays, while the GIL is released.
    std::vector<In2<i32>> sets;
    for (const nb::handle one : lists) {
        sets.push_back(fixed<In2<i32>>(one));
        if (sets.back().shape(0) != sets.front().shape(0)) throw std::invalid_argument("shapes differ");
    }
    const std::size_t room = numbers.shape(0);
    if (products.shape(0) != room || own_groups.shape(0) != room || room < k * sets.size() + close.shape(0))
        throw std::invalid_argument("shapes differ");
    const nb::gil_scoped_release released;
    const Probe probe = probe_of(ids, weights);
    std::vector<Near> found;
    if (!sets.empty()) {
        const std::vector<Entry> terms = terms_of(folded, weights, most, sets.front().shape(0));
        for (const In2<i32> &set : sets) add_listed(set, terms, compared, k, shelf, probe, group, least, found);
    }
    add_close(close, shelf, probe, group, found);
    for (std::size_t i = 0; i < found.size(); ++i) {
        numbers.data()[i] = found[i].number;
        products.data()[i] = found[i].product;
        own_groups.data()[i] = groups.data()[found[i].place];
    }
    return found.size();
}

}  // namespace

void bind_nearest(nb::module_ &m) {
    using namespace nb::literals;
    m.def("find_nearest", &find_nearest, "lists"_a, "folded"_a, "ids"_a, "weights"_a, "most"_a, "compared"_a, "k"_a,
          "table"_a, "owners"_a, "shelf_ids"_a.noconvert(), "shelf_weights"_a.noconvert(), "lengths"_a, "groups"_a,
          "group"_a, "least"_a, "close"_a, "numbers"_a.noconvert(), "products"_a.noconvert(),
          "own_groups"_a.noconvert());
}
