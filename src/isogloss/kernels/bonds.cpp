// Articles that are near to each other, and the clusters that they bind.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arrays.hpp"

namespace {

using namespace isogloss;

// Pairs of near articles, which have numbers that ascend: each pair was found by the later of the two. Kept with
// the later one are the numbers and similarities of the earlier ones, and with the earlier one the numbers of the
// later ones.
class NearPairs {
  public:
    void add(i32 number, In<i32> numbers, In<double> similarities) {
        const std::size_t n = numbers.shape(0);
        if (similarities.shape(0) != n) throw std::invalid_argument("lengths differ");
        if (articles_.count(number)) throw std::invalid_argument("an article was added before");
        for (std::size_t i = 0; i < n; ++i)
            if (!articles_.count(numbers.data()[i])) throw std::invalid_argument("an article is not there");
        for (std::size_t i = 0; i < n; ++i) articles_[numbers.data()[i]].later.push_back(number);
        Article &own = articles_[number];
        own.earlier.assign(numbers.data(), numbers.data() + n);
        own.similarities.assign(similarities.data(), similarities.data() + n);
    }

    void forget(i32 number) {
        const auto found = articles_.find(number);
        if (found == articles_.end()) throw std::invalid_argument("an article is not there");
        const Article gone = std::move(found->second);
        articles_.erase(found);
        for (const i32 other : gone.earlier) {
            auto &later = articles_.at(other).later;
            later.erase(std::find(later.begin(), later.end(), number));
        }
        for (const i32 other : gone.later) {
            Article &later = articles_.at(other);
            const auto place = std::find(later.earlier.begin(), later.earlier.end(), number) - later.earlier.begin();
            later.earlier.erase(later.earlier.begin() + place);
            later.similarities.erase(later.similarities.begin() + place);
        }
    }

    // All pairs of some articles in the order in which they were found: the article, the other one, the similarity.
    // A pair of two of the articles is returned once, by the later one.
    nb::tuple of(In<i32> numbers) const {
        std::vector<FoundPair> pairs;
        for (std::size_t i = 0; i < numbers.shape(0); ++i) gather(numbers.data()[i], pairs);
        std::sort(pairs.begin(), pairs.end(), [](const FoundPair &a, const FoundPair &b) {
            return std::tie(a.later, a.place, a.back) < std::tie(b.later, b.place, b.back);
        });
        const auto same = [](const FoundPair &a, const FoundPair &b) { return a.later == b.later && a.place == b.place; };
        pairs.erase(std::unique(pairs.begin(), pairs.end(), same), pairs.end());
        std::vector<i32> ones, others;
        std::vector<double> similarities;
        for (const FoundPair &pair : pairs) {
            ones.push_back(pair.back ? pair.earlier : pair.later);
            others.push_back(pair.back ? pair.later : pair.earlier);
            similarities.push_back(pair.similarity);
        }
        return nb::make_tuple(as_array(std::move(ones)), as_array(std::move(others)), as_array(std::move(similarities)));
    }

    std::size_t size() const { return articles_.size(); }

  private:
    struct Article {
        std::vector<i32> earlier, later;
        std::vector<double> similarities;
    };

    struct FoundPair {
        i32 later, earlier;
        std::size_t place;
        double similarity;
        bool back;
    };

    void gather(i32 number, std::vector<FoundPair> &pairs) const {
        const auto found = articles_.find(number);
        if (found == articles_.end()) throw std::invalid_argument("an article is not there");
        const Article &own = found->second;
        for (std::size_t i = 0; i < own.earlier.size(); ++i)
            pairs.push_back({number, own.earlier[i], i, own.similarities[i], false});
        for (const i32 later : own.later) {
            const Article &other = articles_.at(later);
            const auto place = std::find(other.earlier.begin(), other.earlier.end(), number) - other.earlier.begin();
            const std::size_t i = static_cast<std::size_t>(place);
            pairs.push_back({later, number, i, other.similarities[i], true});
        }
    }

    std::unordered_map<i32, Article> articles_;
};

// For each pair of clusters how many pairs of their articles are near, and the sums of their similarities: of those
// that are alike at least so much, and of all.
class Bonds {
  public:
    explicit Bonds(double least) : least_(least) {}

    // Articles of clusters are near to articles of others; within a cluster that says nothing.
    void add(In<i32> clusters, In<i32> others, In<double> similarities) {
        const std::size_t n = clusters.shape(0);
        if (others.shape(0) != n || similarities.shape(0) != n) throw std::invalid_argument("lengths differ");
        for (std::size_t i = 0; i < n; ++i) {
            const i32 one = clusters.data()[i], other = others.data()[i];
            if (one == other) continue;
            const double similarity = similarities.data()[i];
            add_to(bonds_[one], other, similarity);
            add_to(bonds_[other], one, similarity);
        }
    }

    // A cluster is no more, or is to be bound anew.
    void forget(i32 cluster) {
        const auto found = bonds_.find(cluster);
        if (found == bonds_.end()) return;
        for (const Bond &bond : found->second) {
            Row &row = bonds_.at(bond.other);
            row.erase(place_of(row, cluster));
            if (row.empty()) bonds_.erase(bond.other);
        }
        bonds_.erase(cluster);
    }

    // Of each of some clusters those of the highest sums, of equal ones the older, ascending: where the clusters of
    // each end, the clusters, how many pairs are alike, and the sums of their similarities.
    nb::tuple strongest(In<i32> clusters, std::size_t most) const {
        std::vector<i32> ends, others, links;
        std::vector<double> sums;
        for (std::size_t i = 0; i < clusters.shape(0); ++i) {
            const auto found = bonds_.find(clusters.data()[i]);
            if (found != bonds_.end())
                for (const Bond &bond : best(found->second, most)) {
                    others.push_back(bond.other);
                    links.push_back(bond.links);
                    sums.push_back(bond.alike);
                }
            ends.push_back(static_cast<i32>(others.size()));
        }
        return nb::make_tuple(as_array(std::move(ends)), as_array(std::move(others)), as_array(std::move(links)),
                              as_array(std::move(sums)));
    }

    std::size_t size() const { return bonds_.size(); }

  private:
    struct Bond {
        i32 other, links;
        double alike, total;
    };
    using Row = std::vector<Bond>;  // in the order of the other clusters

    static Row::iterator place_of(Row &row, i32 other) {
        return std::lower_bound(row.begin(), row.end(), other,
                                [](const Bond &bond, i32 wanted) { return bond.other < wanted; });
    }

    void add_to(Row &row, i32 other, double similarity) const {
        auto place = place_of(row, other);
        if (place == row.end() || place->other != other) place = row.insert(place, {other, 0, 0.0, 0.0});
        place->total += similarity;
        if (similarity < least_) return;
        place->links += 1;
        place->alike += similarity;
    }

    static Row best(Row row, std::size_t most) {
        if (row.size() <= most) return row;
        const auto stronger = [](const Bond &a, const Bond &b) {
            return a.total != b.total ? a.total > b.total : a.other < b.other;
        };
        std::nth_element(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(most), row.end(), stronger);
        row.resize(most);
        std::sort(row.begin(), row.end(), [](const Bond &a, const Bond &b) { return a.other < b.other; });
        return row;
    }

    double least_;
    std::unordered_map<i32, Row> bonds_;
};

}  // namespace

void bind_bonds(nb::module_ &m) {
    nb::class_<NearPairs>(m, "NearPairs", "Pairs of near articles, each found by the later of the two.")
        .def(nb::init<>())
        .def("add", &NearPairs::add, nb::arg("number"), nb::arg("numbers"), nb::arg("similarities"))
        .def("forget", &NearPairs::forget, nb::arg("number"))
        .def("of", &NearPairs::of, nb::arg("numbers"))
        .def("__len__", &NearPairs::size);
    nb::class_<Bonds>(m, "Bonds", "For each pair of clusters how many pairs of their articles are near, and how near.")
        .def(nb::init<double>(), nb::arg("least"))
        .def("add", &Bonds::add, nb::arg("clusters"), nb::arg("others"), nb::arg("similarities"))
        .def("forget", &Bonds::forget, nb::arg("cluster"))
        .def("strongest", &Bonds::strongest, nb::arg("clusters"), nb::arg("most"))
        .def("__len__", &Bonds::size);
}
