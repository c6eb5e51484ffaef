// Links between clusters, and groups of clusters that are one event.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <stdexcept>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arrays.hpp"

namespace {

using namespace isogloss;

struct Rules {
    double threshold, impossible, same_language, doubt, unlinked, prior, cohesion;
};

// What is between a group and another one: the weighted sum of the links, the weight of the pairs that have a link,
// the sum of links within a language, and whether a pair of clusters is impossible.
struct Bond {
    i32 other;
    double sum, linked, own;
    bool apart;
};

struct Group {
    std::vector<std::pair<i32, double>> weights;
    std::vector<Bond> bonds;  // in the order of the other groups
    double weight = 0;
    // Of the pairs of clusters within: the weighted sum of the links, the weight of those with a link, and of all.
    double sum = 0, linked = 0, pairs = 0;
    bool alive = true;
};

constexpr double kPrior = 0.5;

std::vector<Bond>::iterator place_of(Group &group, i32 other) {
    return std::lower_bound(group.bonds.begin(), group.bonds.end(), other,
                            [](const Bond &bond, i32 wanted) { return bond.other < wanted; });
}

// The mean probability of the pairs of two groups; pairs without a link count as 0, with a smaller weight, and so does
// a prior, which small groups must outweigh.
double mean(const Group &one, const Group &other, const Bond &bond, const Rules &rules) {
    const double rest = std::max(0.0, one.weight * other.weight - bond.linked);
    return bond.sum / (bond.linked + rules.unlinked * rest + rules.prior);
}

// The mean probability of the pairs within a group, in the same way; 0 for a single cluster.
double inner_mean(const Group &group, const Rules &rules) {
    const double rest = std::max(0.0, group.pairs - group.linked);
    return group.sum == 0 ? 0 : group.sum / (group.linked + rules.unlinked * rest + rules.prior);
}

// Whether groups with this mean may join: no impossible pair, not much less between than within both, and languages
// that both have are linked themselves.
bool allowed(const Group &one, const Group &other, const Bond &bond, double p, const Rules &rules) {
    if (bond.apart || p < rules.cohesion * std::min(inner_mean(one, rules), inner_mean(other, rules))) return false;
    double common = 0;
    for (const auto &[lang, weight] : one.weights)
        for (const auto &[same, theirs] : other.weights)
            if (lang == same) common += weight * theirs;
    return common == 0 || bond.own >= rules.same_language * common;
}

using Offer = std::tuple<double, i32, i32>;
using Offers = std::priority_queue<Offer, std::vector<Offer>, std::greater<>>;

void offer(const std::vector<Group> &groups, i32 a, bool later_only, const Rules &rules, Offers &offers) {
    for (const Bond &bond : groups[a].bonds) {
        const i32 b = bond.other;
        if (later_only && b < a) continue;
        const double p = mean(groups[a], groups[b], bond, rules);
        if (p >= rules.threshold && allowed(groups[a], groups[b], bond, p, rules))
            offers.emplace(-p, std::min(a, b), std::max(a, b));
    }
}

void add_weights(Group &one, const Group &other) {
    for (const auto &[lang, weight] : other.weights) {
        const i32 wanted = lang;
        const auto place = std::find_if(one.weights.begin(), one.weights.end(),
                                        [wanted](const auto &entry) { return entry.first == wanted; });
        if (place == one.weights.end())
            one.weights.emplace_back(lang, weight);
        else
            place->second += weight;
    }
    one.weight = 0;
    for (const auto &entry : one.weights) one.weight += entry.second;
}

// The bonds of two groups that become the first of them.
std::vector<Bond> united(const Group &one, const Group &other, i32 a, i32 b) {
    std::vector<Bond> out;
    out.reserve(one.bonds.size() + other.bonds.size());
    auto theirs = other.bonds.begin();
    const auto take_before = [&](i32 limit) {
        for (; theirs != other.bonds.end() && theirs->other < limit; ++theirs)
            if (theirs->other != a) out.push_back(*theirs);
    };
    for (const Bond &mine : one.bonds) {
        take_before(mine.other);
        const bool both = theirs != other.bonds.end() && theirs->other == mine.other;
        if (mine.other != b)
            out.push_back(!both ? mine
                                : Bond{mine.other, mine.sum + theirs->sum, mine.linked + theirs->linked, mine.own + theirs->own,
                                       mine.apart || theirs->apart});
        if (both) ++theirs;
    }
    take_before(std::numeric_limits<i32>::max());
    return out;
}

// Lets group b go into group a.
void join(std::vector<Group> &groups, i32 a, i32 b) {
    Group &one = groups[a], &other = groups[b];
    const Bond between = *place_of(one, b);
    one.sum += other.sum + between.sum;
    one.linked += other.linked + between.linked;
    one.pairs += other.pairs + one.weight * other.weight;
    add_weights(one, other);
    one.bonds = united(one, other, a, b);
    for (const Bond &old : other.bonds) {
        if (old.other == a) continue;
        Group &third = groups[old.other];
        third.bonds.erase(place_of(third, b));
        Bond mine = *place_of(one, old.other);
        mine.other = a;
        const auto place = place_of(third, a);
        if (place != third.bonds.end() && place->other == a)
            *place = mine;
        else
            third.bonds.insert(place, mine);
    }
    other = Group{};
    other.alive = false;
}

using Links = std::vector<std::vector<std::pair<i32, double>>>;

// The links between clusters that are there, by the places of both, ascending.
Links links_of(In<i64> ids, nb::list linked) {
    const i64 *begin = ids.data(), *end = begin + ids.shape(0);
    std::unordered_map<i64, i32> places(2 * ids.shape(0));
    for (const i64 *id = begin; id != end; ++id) places.emplace(*id, static_cast<i32>(id - begin));
    Links out(ids.shape(0));
    for (std::size_t a = 0; a < out.size(); ++a) {
        for (const auto &[other, chance] : nb::cast<nb::dict>(linked[a])) {
            const auto found = places.find(nb::cast<i64>(other));
            if (found != places.end()) out[a].emplace_back(found->second, nb::cast<double>(chance));
        }
        std::sort(out[a].begin(), out[a].end());
    }
    return out;
}

// Clusters that likely links lead to from each other: no mean is higher than the highest of its links, so others
// are never joined.
std::vector<i32> reachable(const Links &links, double threshold) {
    std::vector<i32> root(links.size());
    std::iota(root.begin(), root.end(), 0);
    const auto find = [&root](i32 one) {
        while (root[one] != one) one = root[one] = root[root[one]];
        return one;
    };
    for (std::size_t a = 0; a < links.size(); ++a)
        for (const auto &[b, p] : links[a])
            if (p >= threshold) root[find(static_cast<i32>(a))] = find(b);
    for (std::size_t i = 0; i < root.size(); ++i) root[i] = find(static_cast<i32>(i));
    return root;
}

// How much third clusters agree that they belong to both or to neither; the links of the first lie open, with -1 for
// none. A third cluster that is linked to one of the two only counts with the weight of pairs without a link.
double support(const std::vector<double> &open, const std::vector<std::pair<i32, double>> &other, double both,
               double unlinked) {
    double agreed = 0, common = 0;
    for (const auto &[c, p] : other)
        if (open[c] >= 0) {
            agreed += std::min(open[c], p);
            common += open[c] + p;
        }
    return (kPrior + agreed) / (kPrior + common - agreed + unlinked * std::max(0.0, both - common));
}

std::vector<Group> groups_of(In<double> weights, In<i32> languages, const Links &links, const Rules &rules) {
    const std::size_t n = links.size();
    std::vector<Group> groups(n);
    std::vector<double> total(n, 0.0), open(n, -1.0);
    for (std::size_t i = 0; i < n; ++i) {
        groups[i].weights.emplace_back(languages.data()[i], weights.data()[i]);
        groups[i].weight = weights.data()[i];
        for (const auto &link : links[i]) total[i] += link.second;
    }
    const std::vector<i32> part = reachable(links, rules.threshold);
    for (std::size_t i = 0; i < n; ++i) {
        const i32 a = static_cast<i32>(i);
        for (const auto &[c, p] : links[a]) open[c] = p;
        for (const auto &[b, p] : links[a]) {
            if (b < a || part[a] != part[b]) continue;
            const double both = total[a] + total[b] - 2 * p;
            const double supported =
                p * (1 - rules.doubt + rules.doubt * support(open, links[b], both, rules.unlinked));
            const double weight = groups[a].weight * groups[b].weight, sum = supported * weight;
            const bool same = languages.data()[a] == languages.data()[b], apart = p < rules.impossible;
            groups[a].bonds.push_back({b, sum, weight, same ? sum : 0, apart});
            groups[b].bonds.push_back({a, sum, weight, same ? sum : 0, apart});
        }
        for (const auto &link : links[a]) open[link.first] = -1;
    }
    return groups;
}

void join_all(std::vector<Group> &groups, const Rules &rules, i32 *group) {
    const std::size_t n = groups.size();
    std::iota(group, group + n, 0);
    Offers offers;
    for (std::size_t i = 0; i < n; ++i) offer(groups, static_cast<i32>(i), true, rules, offers);
    while (!offers.empty()) {
        const auto [negative, a, b] = offers.top();
        offers.pop();
        if (!groups[a].alive || !groups[b].alive) continue;
        const auto bond = place_of(groups[a], b);
        if (bond == groups[a].bonds.end() || bond->other != b) continue;
        // An offer may be of smaller groups with the same mean, for which the rules allowed more.
        if (mean(groups[a], groups[b], *bond, rules) != -negative) continue;
        if (!allowed(groups[a], groups[b], *bond, -negative, rules)) continue;
        join(groups, a, b);
        group[b] = a;
        offer(groups, a, false, rules, offers);
    }
    // A group goes into one with a smaller place, so one pass leads to the first.
    for (std::size_t i = 0; i < n; ++i) group[i] = group[group[i]];
}

// Joins clusters, whose ids ascend, the most probable pair first; each gets the place of the first of its group.
// Of each cluster the probabilities of its links are given by the ids of the others, both ways.
void join_clusters(In<i64> ids, In<double> weights, In<i32> languages, nb::list linked, double threshold,
                   double impossible, double same_language, double doubt, double unlinked, double prior,
                   double cohesion, Out<i32> group) {
    const std::size_t n = ids.shape(0);
    if (weights.shape(0) != n || languages.shape(0) != n || group.shape(0) != n || linked.size() != n)
        throw std::invalid_argument("lengths differ");
    const Rules rules{threshold, impossible, same_language, doubt, unlinked, prior, cohesion};
    const Links links = links_of(ids, linked);
    const nb::gil_scoped_release released;
    std::vector<Group> groups = groups_of(weights, languages, links, rules);
    join_all(groups, rules, group.data());
}

// Takes an object that a call made, or passes on the error of the call.
nb::object made(PyObject *object) {
    if (!object) throw nb::python_error();
    return nb::steal(object);
}

// The table of a cluster, or nothing.
PyObject *find_row(const nb::dict &linked, nb::handle cluster) {
    PyObject *row = PyDict_GetItemWithError(linked.ptr(), cluster.ptr());
    if (!row && PyErr_Occurred()) throw nb::python_error();
    if (row && !PyDict_Check(row)) throw std::invalid_argument("expected tables of probabilities");
    return row;
}

// The table of a cluster, which is made if there is none.
PyObject *row_of(nb::dict &linked, nb::handle cluster) {
    if (PyObject *row = find_row(linked, cluster)) return row;
    const nb::dict row;
    if (PyDict_SetItem(linked.ptr(), cluster.ptr(), row.ptr())) throw nb::python_error();
    return row.ptr();
}

// Takes the links of clusters that changed out of a table, in which every link is noted with both clusters.
void take_links(nb::dict &linked, nb::list changed) {
    std::vector<std::pair<nb::object, nb::dict>> rows;
    for (const nb::handle one : changed) {
        PyObject *row = find_row(linked, one);
        if (!row) continue;
        rows.emplace_back(nb::borrow(one), nb::borrow<nb::dict>(row));
        if (PyDict_DelItem(linked.ptr(), one.ptr())) throw nb::python_error();
    }
    for (const auto &[one, row] : rows)
        for (const auto &[other, chance] : row) {
            PyObject *theirs = find_row(linked, other);
            if (theirs && PyDict_DelItem(theirs, one.ptr())) PyErr_Clear();
        }
}

// Puts the links of pairs of clusters in the place of all that clusters that changed had.
void replace_links(nb::dict linked, nb::list changed, In<i32> first, In<i32> second, In<double> chances) {
    const std::size_t n = first.shape(0);
    if (second.shape(0) != n || chances.shape(0) != n) throw std::invalid_argument("lengths differ");
    take_links(linked, changed);
    for (const nb::handle one : changed) row_of(linked, one);
    for (std::size_t i = 0; i < n; ++i) {
        const nb::object a = made(PyLong_FromLong(first.data()[i])), b = made(PyLong_FromLong(second.data()[i]));
        const nb::object chance = made(PyFloat_FromDouble(chances.data()[i]));
        if (PyDict_SetItem(row_of(linked, a), b.ptr(), chance.ptr()) ||
            PyDict_SetItem(row_of(linked, b), a.ptr(), chance.ptr()))
            throw nb::python_error();
    }
}

}  // namespace

void bind_linking(nb::module_ &m) {
    m.def("replace_links", &replace_links, nb::arg("linked"), nb::arg("changed"), nb::arg("first"), nb::arg("second"),
          nb::arg("chances"));
    m.def("join_clusters", &join_clusters, nb::arg("ids"), nb::arg("weights"), nb::arg("languages"),
          nb::arg("linked"), nb::arg("threshold"), nb::arg("impossible"), nb::arg("same_language"), nb::arg("doubt"),
          nb::arg("unlinked"), nb::arg("prior"), nb::arg("cohesion"), nb::arg("group").noconvert());
}
