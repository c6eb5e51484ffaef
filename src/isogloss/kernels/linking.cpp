// What two clusters have in common, and groups of clusters that are one event.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arrays.hpp"

namespace {

using namespace isogloss;
using u64 = std::uint64_t;

// FNV-1a of 64 bits: names have the same number in every process.
i64 hash_name(std::string_view bytes) {
    u64 h = 0xcbf29ce484222325ULL;
    for (const char byte : bytes) h = (h ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
    return static_cast<i64>(h);
}

using Weighted = std::vector<std::pair<i64, double>>;

Weighted weights_of(nb::handle named) {
    Weighted found;
    for (const auto &[name, weight] : nb::cast<nb::dict>(named)) {
        Py_ssize_t size = 0;
        const char *bytes = PyUnicode_AsUTF8AndSize(name.ptr(), &size);
        if (!bytes) throw nb::python_error();
        found.emplace_back(hash_name({bytes, static_cast<std::size_t>(size)}), nb::cast<double>(weight));
    }
    std::sort(found.begin(), found.end());
    return found;
}

// Parts of a profile one after the other: weights of names, then a vector; where each begins and the last ends.
nb::tuple pack_profile(nb::list named, In<i32> ids, In<double> vector) {
    if (ids.shape(0) != vector.shape(0)) throw std::invalid_argument("lengths differ");
    std::vector<i64> keys;
    std::vector<double> weights;
    std::vector<i32> bounds{0};
    for (const nb::handle part : named) {
        for (const auto &[key, weight] : weights_of(part)) {
            keys.push_back(key);
            weights.push_back(weight);
        }
        bounds.push_back(static_cast<i32>(keys.size()));
    }
    keys.insert(keys.end(), ids.data(), ids.data() + ids.shape(0));
    weights.insert(weights.end(), vector.data(), vector.data() + vector.shape(0));
    bounds.push_back(static_cast<i32>(keys.size()));
    return nb::make_tuple(as_array(std::move(keys)), as_array(std::move(weights)), as_array(std::move(bounds)));
}

struct Packed {
    const i64 *keys;
    const double *weights;
    const i32 *bounds;
};

// The inner product of a part of two profiles, and the number of keys that both have.
std::pair<double, i32> overlap(const Packed &a, const Packed &b, std::size_t part) {
    double sum = 0;
    i32 shared = 0;
    for (i32 i = a.bounds[part], j = b.bounds[part]; i < a.bounds[part + 1] && j < b.bounds[part + 1];) {
        const i64 x = a.keys[i], y = b.keys[j];
        if (x == y) {
            sum += a.weights[i] * b.weights[j];
            ++shared;
        }
        i += x <= y;
        j += y <= x;
    }
    return {sum, shared};
}

Packed packed_of(nb::handle profile, std::size_t parts) {
    const nb::tuple arrays = nb::cast<nb::tuple>(profile);
    const auto keys = fixed<In<i64>>(arrays[0]);
    const auto weights = fixed<In<double>>(arrays[1]);
    const auto bounds = fixed<In<i32>>(arrays[2]);
    const i32 *begin = bounds.data(), *end = begin + bounds.shape(0);
    if (bounds.shape(0) != parts + 1 || keys.shape(0) != weights.shape(0) || *begin < 0 || !std::is_sorted(begin, end) ||
        static_cast<std::size_t>(end[-1]) > keys.shape(0))
        throw std::invalid_argument("a profile has other parts");
    return {keys.data(), weights.data(), begin};
}

// Of pairs of packed profiles, the inner product of each part and the number of keys of both.
void overlap_pairs(nb::list profiles, In<i32> first, In<i32> second, Out2<double> inner, Out2<i32> shared) {
    const std::size_t m = first.shape(0), parts = inner.shape(1);
    if (second.shape(0) != m || inner.shape(0) != m || shared.shape(0) != m || shared.shape(1) != parts)
        throw std::invalid_argument("shapes differ");
    // The list holds the arrays, and the caller the list, while the GIL is released.
    std::vector<Packed> packed;
    for (const nb::handle profile : profiles) packed.push_back(packed_of(profile, parts));
    const nb::gil_scoped_release released;
    for (std::size_t i = 0; i < m; ++i) {
        const i32 a = first.data()[i], b = second.data()[i];
        if (a < 0 || b < 0 || static_cast<std::size_t>(std::max(a, b)) >= packed.size())
            throw std::invalid_argument("a pair names a profile that is not there");
        for (std::size_t part = 0; part < parts; ++part)
            std::tie(inner.data()[i * parts + part], shared.data()[i * parts + part]) =
                overlap(packed[a], packed[b], part);
    }
}

struct Rules {
    double threshold, impossible, same_language, doubt;
};

struct Pair {
    i32 a, b;
    double p;
};

struct Bond {
    double sum = 0, own = 0;
};

struct Group {
    std::vector<std::pair<i32, double>> weights;
    std::map<i32, Bond> bonds;
    std::set<i32> apart;
    double weight = 0;
    bool alive = true;
};

constexpr double kPrior = 0.5;

using Linked = std::vector<std::vector<std::pair<i32, double>>>;

// How much third clusters agree that they belong to both or to neither.
double support(const Linked &linked, i32 a, i32 b) {
    const auto &one = linked[a], &other = linked[b];
    double agreed = 0, of_one = 0, of_other = 0;
    auto match = other.begin();
    for (const auto &[c, p] : one) {
        while (match != other.end() && match->first < c) ++match;
        if (match != other.end() && match->first == c) agreed += std::min(p, match->second);
        if (c != b) of_one += p;
    }
    for (const auto &[c, p] : other)
        if (c != a) of_other += p;
    return (kPrior + agreed) / (kPrior + (of_one + of_other) - agreed);
}

double mean(const Group &one, const Group &other, const Bond &bond) { return bond.sum / (one.weight * other.weight); }

// Whether groups may join: no impossible pair, and languages that both have are linked themselves.
bool allowed(const Group &one, const Group &other, i32 b, const Bond &bond, const Rules &rules) {
    if (one.apart.count(b)) return false;
    double common = 0;
    for (const auto &[lang, weight] : one.weights)
        for (const auto &[same, theirs] : other.weights)
            if (lang == same) common += weight * theirs;
    return common == 0 || bond.own >= rules.same_language * common;
}

using Offer = std::tuple<double, i32, i32>;
using Offers = std::priority_queue<Offer, std::vector<Offer>, std::greater<>>;

void offer(const std::vector<Group> &groups, i32 a, bool later_only, const Rules &rules, Offers &offers) {
    for (const auto &[b, bond] : groups[a].bonds) {
        if (later_only && b < a) continue;
        const double p = mean(groups[a], groups[b], bond);
        if (p >= rules.threshold && allowed(groups[a], groups[b], b, bond, rules))
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

// Lets group b go into group a.
void join(std::vector<Group> &groups, i32 a, i32 b) {
    Group &one = groups[a], &other = groups[b];
    add_weights(one, other);
    one.bonds.erase(b);
    other.bonds.erase(a);
    for (const auto &[c, bond] : other.bonds) {
        Bond &mine = one.bonds[c];
        mine.sum += bond.sum;
        mine.own += bond.own;
        groups[c].bonds[a] = mine;
        groups[c].bonds.erase(b);
    }
    for (const i32 c : other.apart) {
        groups[c].apart.erase(b);
        if (c == a) continue;
        groups[c].apart.insert(a);
        one.apart.insert(c);
    }
    other = Group{};
    other.alive = false;
}

// The links between clusters that are there, the smaller place first, in the order of their places.
std::vector<Pair> pairs_of(In<i64> ids, nb::list linked) {
    const i64 *begin = ids.data(), *end = begin + ids.shape(0);
    std::unordered_map<i64, i32> places;
    for (const i64 *id = begin; id != end; ++id) places.emplace(*id, static_cast<i32>(id - begin));
    std::vector<Pair> out;
    for (std::size_t a = 0; a < ids.shape(0); ++a)
        for (const auto &[other, chance] : nb::cast<nb::dict>(linked[a])) {
            const auto found = places.find(nb::cast<i64>(other));
            if (found != places.end() && static_cast<i32>(a) < found->second)
                out.push_back({static_cast<i32>(a), found->second, nb::cast<double>(chance)});
        }
    std::sort(out.begin(), out.end(), [](const Pair &x, const Pair &y) { return std::tie(x.a, x.b) < std::tie(y.a, y.b); });
    return out;
}

// Clusters that likely links lead to from each other: no mean is higher than the highest of its links, so others
// are never joined.
std::vector<i32> reachable(std::size_t n, const std::vector<Pair> &pairs, double threshold) {
    std::vector<i32> root(n);
    std::iota(root.begin(), root.end(), 0);
    const auto find = [&root](i32 one) {
        while (root[one] != one) one = root[one] = root[root[one]];
        return one;
    };
    for (const auto &[a, b, p] : pairs)
        if (p >= threshold) root[find(a)] = find(b);
    for (std::size_t i = 0; i < n; ++i) root[i] = find(static_cast<i32>(i));
    return root;
}

std::vector<Group> groups_of(In<double> weights, In<i32> languages, const std::vector<Pair> &pairs, const Rules &rules) {
    std::vector<Group> groups(weights.shape(0));
    for (std::size_t i = 0; i < groups.size(); ++i) {
        groups[i].weights.emplace_back(languages.data()[i], weights.data()[i]);
        groups[i].weight = weights.data()[i];
    }
    Linked linked(groups.size());
    for (const auto &[a, b, p] : pairs) {
        linked[a].emplace_back(b, p);
        linked[b].emplace_back(a, p);
    }
    const std::vector<i32> part = reachable(groups.size(), pairs, rules.threshold);
    for (const auto &[a, b, p] : pairs) {
        if (part[a] != part[b]) continue;
        const double supported = p * (1 - rules.doubt + rules.doubt * support(linked, a, b));
        Bond bond{supported * groups[a].weight * groups[b].weight, 0};
        if (languages.data()[a] == languages.data()[b]) bond.own = bond.sum;
        groups[a].bonds[b] = groups[b].bonds[a] = bond;
        if (p < rules.impossible) {
            groups[a].apart.insert(b);
            groups[b].apart.insert(a);
        }
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
        const auto bond = groups[a].bonds.find(b);
        if (bond == groups[a].bonds.end() || mean(groups[a], groups[b], bond->second) != -negative) continue;
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
                   double impossible, double same_language, double doubt, Out<i32> group) {
    const std::size_t n = ids.shape(0);
    if (weights.shape(0) != n || languages.shape(0) != n || group.shape(0) != n || linked.size() != n)
        throw std::invalid_argument("lengths differ");
    const Rules rules{threshold, impossible, same_language, doubt};
    const std::vector<Pair> pairs = pairs_of(ids, linked);
    const nb::gil_scoped_release released;
    std::vector<Group> groups = groups_of(weights, languages, pairs, rules);
    join_all(groups, rules, group.data());
}

}  // namespace

void bind_linking(nb::module_ &m) {
    m.def("pack_profile", &pack_profile, nb::arg("named"), nb::arg("ids"), nb::arg("weights"));
    m.def("overlap_pairs", &overlap_pairs, nb::arg("profiles"), nb::arg("first"), nb::arg("second"),
          nb::arg("inner").noconvert(), nb::arg("shared").noconvert());
    m.def("join_clusters", &join_clusters, nb::arg("ids"), nb::arg("weights"), nb::arg("languages"),
          nb::arg("linked"), nb::arg("threshold"), nb::arg("impossible"), nb::arg("same_language"), nb::arg("doubt"),
          nb::arg("group").noconvert());
}
