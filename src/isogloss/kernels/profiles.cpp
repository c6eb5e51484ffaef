// What clusters are compared by, and what two of them have in common.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <tuple>
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

i64 number_of(nb::handle name) {
    Py_ssize_t size = 0;
    const char *bytes = PyUnicode_AsUTF8AndSize(name.ptr(), &size);
    if (!bytes) throw nb::python_error();
    return hash_name({bytes, static_cast<std::size_t>(size)});
}

using Weighted = std::vector<std::pair<i64, double>>;

// Weights by the numbers of names, ascending; names without weights count one each.
Weighted weights_of(nb::handle named) {
    Weighted found;
    if (PyDict_Check(named.ptr()))
        for (const auto &[name, weight] : nb::borrow<nb::dict>(named))
            found.emplace_back(number_of(name), nb::cast<double>(weight));
    else if (PyTuple_Check(named.ptr()))
        for (const nb::handle name : nb::borrow<nb::tuple>(named)) found.emplace_back(number_of(name), 1.0);
    else
        throw std::invalid_argument("expected weights by names, or a tuple of names");
    std::sort(found.begin(), found.end());
    return found;
}

// Weights by keys, which ascend, and how often each key was added.
struct Part {
    std::vector<i64> keys;
    std::vector<double> weights;
    std::vector<i32> counts;
    double squared = 0;

    std::size_t size() const { return keys.size(); }

    // Adds weights by ascending keys.
    void add(const Weighted &more) {
        Weighted fresh;
        auto place = keys.begin();
        for (const auto &[key, weight] : more) {
            place = std::lower_bound(place, keys.end(), key);
            if (place != keys.end() && *place == key) {
                const auto i = static_cast<std::size_t>(place - keys.begin());
                weights[i] += weight;
                ++counts[i];
            } else if (!fresh.empty() && fresh.back().first == key)
                fresh.back().second += weight;
            else
                fresh.emplace_back(key, weight);
        }
        insert(fresh);
    }

    void measure() {
        squared = 0;
        for (const double weight : weights) squared += weight * weight;
    }

  private:
    // Makes room at the end and fills it from there.
    void insert(const Weighted &fresh) {
        std::size_t i = size(), j = fresh.size(), to = i + j;
        keys.resize(to);
        weights.resize(to);
        counts.resize(to);
        while (j) {
            --to;
            const bool own = i && keys[i - 1] > fresh[j - 1].first;
            keys[to] = own ? keys[i - 1] : fresh[j - 1].first;
            weights[to] = own ? weights[i - 1] : fresh[j - 1].second;
            counts[to] = own ? counts[i - 1] : 1;
            i -= own;
            j -= !own;
        }
    }
};

// A cluster as the linker compares it: sums of weights of names, in parts, and a vector, the last part; statistics
// such as times; and marks, names that are the same or not.
class PackedProfile {
  public:
    explicit PackedProfile(std::size_t named) : parts_(named + 1) {}

    // Adds weights by names, or names that count one each, to all parts but the last.
    void add(nb::list named) {
        if (named.size() + 1 != parts_.size()) throw std::invalid_argument("a profile has other parts");
        std::vector<Weighted> more;
        for (const nb::handle part : named) more.push_back(weights_of(part));
        for (std::size_t i = 0; i < more.size(); ++i) parts_[i].add(more[i]);
    }

    // Sets all that is no sum.
    void set_statistics(In<i32> ids, In<double> vector, In<double> statistics, nb::list marks) {
        if (ids.shape(0) != vector.shape(0)) throw std::invalid_argument("lengths differ");
        parts_.back().keys.assign(ids.data(), ids.data() + ids.shape(0));
        parts_.back().weights.assign(vector.data(), vector.data() + vector.shape(0));
        for (Part &part : parts_) part.measure();
        statistics_.assign(statistics.data(), statistics.data() + statistics.shape(0));
        marks_.clear();
        for (const nb::handle mark : marks) marks_.push_back(mark.is_none() ? 0 : number_of(mark));
    }

    const std::vector<Part> &parts() const { return parts_; }
    std::size_t marks() const { return marks_.size(); }
    std::size_t measures() const { return statistics_.size() + 2 * parts_.size(); }

    // The statistics, then of each part how many keys it has, then of each the sum of squared weights.
    void measure(double *out) const {
        out = std::copy(statistics_.begin(), statistics_.end(), out);
        for (const Part &part : parts_) *out++ = static_cast<double>(part.size());
        for (const Part &part : parts_) *out++ = part.squared;
    }

    void mark(i64 *out) const { std::copy(marks_.begin(), marks_.end(), out); }

  private:
    std::vector<Part> parts_;
    std::vector<i64> marks_;
    std::vector<double> statistics_;
};

using Profiles = std::vector<const PackedProfile *>;
using Shared = std::pair<double, i32>;  // the inner product of two parts, and how many keys both have

// Profiles of a list, which holds them, and the caller the list.
Profiles profiles_of(nb::list listed) {
    Profiles out;
    for (const nb::handle one : listed) out.push_back(nb::cast<const PackedProfile *>(one));
    return out;
}

// The statistics and counts of each profile, and its marks.
void measure_profiles(nb::list listed, Out2<double> measures, Out2<i64> marks) {
    const Profiles profiles = profiles_of(listed);
    if (measures.shape(0) != profiles.size() || marks.shape(0) != profiles.size())
        throw std::invalid_argument("lengths differ");
    for (std::size_t i = 0; i < profiles.size(); ++i) {
        if (profiles[i]->measures() != measures.shape(1) || profiles[i]->marks() != marks.shape(1))
            throw std::invalid_argument("a profile has other parts");
        profiles[i]->measure(measures.data() + i * measures.shape(1));
        profiles[i]->mark(marks.data() + i * marks.shape(1));
    }
}

Shared merged(const Part &one, const Part &other) {
    Shared out{0.0, 0};
    for (std::size_t i = 0, j = 0; i < one.size() && j < other.size();) {
        const i64 x = one.keys[i], y = other.keys[j];
        if (x == y) {
            out.first += one.weights[i] * other.weights[j];
            ++out.second;
        }
        i += x <= y;
        j += y <= x;
    }
    return out;
}

// A part that many are compared with: its keys in a table, and bits that tell most of the others at once.
class Probe {
  public:
    void set(const Part &part) {
        part_ = &part;
        if (part.size() < kFew) return;
        std::size_t size = 16;
        while (size < 2 * part.size()) size *= 2;
        table_.assign(size, 0);
        std::fill(bits_, bits_ + kWords, 0);
        for (std::size_t i = 0; i < part.size(); ++i) {
            const u64 mixed = mix(part.keys[i]);
            bits_[(mixed >> 6) % kWords] |= u64{1} << (mixed & 63);
            table_[place(part.keys[i], mixed)] = static_cast<std::uint32_t>(i + 1);
        }
    }

    // What it shares with a part, added up in the order of the keys.
    Shared overlap(const Part &other) const {
        if (part_->size() < kFew) return merged(*part_, other);
        Shared out{0.0, 0};
        for (std::size_t j = 0; j < other.size(); ++j) {
            const u64 mixed = mix(other.keys[j]);
            if (!(bits_[(mixed >> 6) % kWords] >> (mixed & 63) & 1)) continue;
            const std::uint32_t found = table_[place(other.keys[j], mixed)];
            if (!found) continue;
            out.first += part_->weights[found - 1] * other.weights[j];
            ++out.second;
        }
        return out;
    }

  private:
    static constexpr std::size_t kFew = 16, kWords = 128;

    static u64 mix(i64 key) { return static_cast<u64>(key) * 0x9e3779b97f4a7c15ULL >> 20; }

    // Where a key is, or would be.
    std::size_t place(i64 key, u64 mixed) const {
        std::size_t i = mixed & (table_.size() - 1);
        while (table_[i] && part_->keys[table_[i] - 1] != key) i = (i + 1) & (table_.size() - 1);
        return i;
    }

    const Part *part_ = nullptr;
    std::vector<std::uint32_t> table_;
    u64 bits_[kWords] = {};
};

// Of each pair the profile that more pairs have, and the other one.
std::vector<std::pair<i32, i32>> by_frequency(In<i32> first, In<i32> second, std::size_t profiles) {
    std::vector<i32> pairs_of(profiles, 0);
    for (std::size_t i = 0; i < first.shape(0); ++i) {
        const i32 a = first.data()[i], b = second.data()[i];
        if (a < 0 || b < 0 || static_cast<std::size_t>(std::max(a, b)) >= profiles)
            throw std::invalid_argument("a pair names a profile that is not there");
        ++pairs_of[static_cast<std::size_t>(a)], ++pairs_of[static_cast<std::size_t>(b)];
    }
    std::vector<std::pair<i32, i32>> out;
    for (std::size_t i = 0; i < first.shape(0); ++i) {
        out.emplace_back(first.data()[i], second.data()[i]);
        if (pairs_of[out[i].first] < pairs_of[out[i].second]) std::swap(out[i].first, out[i].second);
    }
    return out;
}

// Of pairs of profiles, the inner product of each part and the number of keys of both. Profiles may grow, so the GIL is
// kept.
void overlap_pairs(nb::list listed, In<i32> first, In<i32> second, Out2<double> inner, Out2<i32> shared) {
    const std::size_t m = first.shape(0), parts = inner.shape(1);
    if (second.shape(0) != m || inner.shape(0) != m || shared.shape(0) != m || shared.shape(1) != parts)
        throw std::invalid_argument("shapes differ");
    const Profiles profiles = profiles_of(listed);
    for (const PackedProfile *one : profiles)
        if (one->parts().size() != parts) throw std::invalid_argument("a profile has other parts");
    const auto pairs = by_frequency(first, second, profiles.size());
    std::vector<std::size_t> order(m);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&pairs](std::size_t i, std::size_t j) { return pairs[i].first < pairs[j].first; });
    std::vector<Probe> probes(parts);
    i32 probed = -1;
    for (const std::size_t i : order) {
        const auto [one, other] = pairs[i];
        for (std::size_t part = 0; part < parts; ++part) {
            if (one != probed) probes[part].set(profiles[one]->parts()[part]);
            std::tie(inner.data()[i * parts + part], shared.data()[i * parts + part]) =
                probes[part].overlap(profiles[other]->parts()[part]);
        }
        probed = one;
    }
}

// Sums of weights by keys.
class Sums {
  public:
    explicit Sums(std::size_t most) {
        std::size_t size = 16;
        while (size < 2 * most) size *= 2;
        table_.resize(size);
        sums_.reserve(most);
    }

    void add(i64 key, double weight) {
        std::size_t i = static_cast<u64>(key) & (table_.size() - 1);
        while (table_[i] && sums_[table_[i] - 1].first != key) i = (i + 1) & (table_.size() - 1);
        if (!table_[i]) {
            sums_.emplace_back(key, 0.0);
            table_[i] = static_cast<std::uint32_t>(sums_.size());
        }
        sums_[table_[i] - 1].second += weight;
    }

    // The k largest, and all that are as large as the last of them, by key.
    Weighted largest(std::size_t k) const {
        Weighted found = sums_;
        if (k && k < found.size()) {
            const auto heavier = [](const auto &a, const auto &b) { return a.second > b.second; };
            std::nth_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(k - 1), found.end(), heavier);
            const double least = found[k - 1].second;
            found.erase(std::remove_if(found.begin(), found.end(), [least](const auto &one) { return one.second < least; }),
                        found.end());
        }
        std::sort(found.begin(), found.end());
        return found;
    }

  private:
    std::vector<std::uint32_t> table_;
    Weighted sums_;
};

// Names of keys, which ascend, out of tables of weights by names; no table is asked for when all are known.
std::vector<nb::object> names_of(const Weighted &wanted, nb::iterable tables) {
    std::vector<nb::object> names(wanted.size());
    std::size_t missing = wanted.size();
    if (missing)
        for (const nb::handle table : tables) {
            if (!PyDict_Check(table.ptr())) throw std::invalid_argument("expected tables of weights by names");
            for (const auto &[name, weight] : nb::borrow<nb::dict>(table)) {
                const i64 key = number_of(name);
                const auto place = std::lower_bound(wanted.begin(), wanted.end(), key,
                                                    [](const auto &one, i64 other) { return one.first < other; });
                if (place == wanted.end() || place->first != key) continue;
                nb::object &known = names[static_cast<std::size_t>(place - wanted.begin())];
                if (known.is_valid()) continue;
                known = nb::borrow(name);
                --missing;
            }
            if (!missing) break;
        }
    if (missing) throw std::invalid_argument("a name of a profile is in no table");
    return names;
}

// The names with the largest sums of weights in parts of profiles, from one on and before another, the largest first;
// of equal ones those that come first. Weights of a name are added in the order of profiles and parts; tables have the
// names.
std::vector<std::pair<nb::object, double>> strongest_names(nb::list listed, std::size_t from, std::size_t to,
                                                           nb::iterable tables, std::size_t k) {
    const Profiles profiles = profiles_of(listed);
    std::size_t most = 0;
    for (const PackedProfile *one : profiles) {
        if (one->parts().size() < to) throw std::invalid_argument("a profile has other parts");
        for (std::size_t part = from; part < to; ++part) most += one->parts()[part].size();
    }
    Sums sums(most);
    for (const PackedProfile *one : profiles)
        for (std::size_t part = from; part < to; ++part) {
            const Part &own = one->parts()[part];
            for (std::size_t i = 0; i < own.size(); ++i) sums.add(own.keys[i], own.weights[i]);
        }
    const Weighted found = k ? sums.largest(k) : Weighted{};
    const std::vector<nb::object> names = names_of(found, tables);
    std::vector<std::pair<nb::object, double>> out;
    for (std::size_t i = 0; i < found.size(); ++i) out.emplace_back(names[i], found[i].second);
    std::sort(out.begin(), out.end(), [](const auto &a, const auto &b) {
        return a.second != b.second ? a.second > b.second : PyUnicode_Compare(a.first.ptr(), b.first.ptr()) < 0;
    });
    out.resize(std::min(k, out.size()));
    return out;
}

// Profiles in the order of time, each of some articles of a language.
struct Sequence {
    Profiles profiles;
    const double *articles, *times;
    const i32 *languages;
    std::vector<double> totals;  // articles of each language

    std::size_t size() const { return profiles.size(); }
};

// For each place between two profiles the weight of the languages that have articles on both sides: of b articles
// before it and a after it, b a / (b + a).
std::vector<double> two_sided_weights(const Sequence &in) {
    std::vector<double> out(in.size(), 0.0), before(in.totals.size(), 0.0);
    double sum = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
        const std::size_t lang = in.languages[i];
        const auto weight = [&] { return before[lang] * (in.totals[lang] - before[lang]) / in.totals[lang]; };
        sum -= weight();
        before[lang] += in.articles[i];
        sum += weight();
        out[i] = sum;
    }
    return out;
}

// A name: the profiles that have it, and in how many of their articles.
using Mention = std::tuple<i64, i32, i32>;

std::vector<Mention> mentions_of(const Sequence &in, std::size_t part) {
    std::vector<Mention> out;
    for (std::size_t i = 0; i < in.size(); ++i) {
        const Part &own = in.profiles[i]->parts()[part];
        for (std::size_t k = 0; k < own.size(); ++k) out.emplace_back(own.keys[k], static_cast<i32>(i), own.counts[k]);
    }
    std::sort(out.begin(), out.end());
    return out;
}

// The name of a part that appears most clearly in a sequence: how many profiles are before it, and the score
// sum_l w_l (a_l - b_l) / (sum_l w_l + prior), with a_l and b_l the shares of the articles of a language that have the
// name after and before the place, and w_l the weight of the language. Names of fewer than `least` articles do not
// count. (0, 0) if there is none.
std::pair<double, i32> find_new_name(nb::list listed, In<double> articles, In<double> times, In<i32> languages,
                                     std::size_t part, double prior, double least) {
    const std::size_t n = listed.size();
    if (articles.shape(0) != n || times.shape(0) != n || languages.shape(0) != n)
        throw std::invalid_argument("lengths differ");
    Sequence in{profiles_of(listed), articles.data(), times.data(), languages.data(), {}};
    for (std::size_t i = 0; i < n; ++i) {
        if (in.profiles[i]->parts().size() <= part) throw std::invalid_argument("a profile has other parts");
        if (in.languages[i] < 0 || !(in.articles[i] > 0)) throw std::invalid_argument("expected articles of a language");
        in.totals.resize(std::max(in.totals.size(), static_cast<std::size_t>(in.languages[i]) + 1));
        in.totals[in.languages[i]] += in.articles[i];
    }
    const std::vector<double> weights = two_sided_weights(in);
    const std::vector<Mention> mentions = mentions_of(in, part);
    std::pair<double, i32> best{0.0, 0};
    std::vector<double> shares(in.totals.size());
    for (auto from = mentions.begin(), to = from; from != mentions.end(); from = to) {
        double all = 0;
        std::fill(shares.begin(), shares.end(), 0.0);
        for (; to != mentions.end() && std::get<0>(*to) == std::get<0>(*from); ++to) {
            all += std::get<2>(*to);
            shares[in.languages[std::get<1>(*to)]] += std::get<2>(*to);
        }
        if (all < least) continue;
        for (std::size_t lang = 0; lang < shares.size(); ++lang)
            if (in.totals[lang] > 0) shares[lang] /= in.totals[lang];
        // w_l (a_l - b_l) is the articles before the place times the share of the language, less those with the name.
        double lead = 0;
        for (std::size_t i = 0; i + 1 < n; ++i) {
            lead += in.articles[i] * shares[in.languages[i]];
            if (from != to && static_cast<std::size_t>(std::get<1>(*from)) == i) lead -= std::get<2>(*from++);
            const double score = lead / (weights[i] + prior);
            if (in.times[i] < in.times[i + 1] && score > best.first) best = {score, static_cast<i32>(i + 1)};
        }
    }
    return best;
}

}  // namespace

void bind_profiles(nb::module_ &m) {
    nb::class_<PackedProfile>(m, "PackedProfile", "What two clusters are compared by.")
        .def(nb::init<std::size_t>(), nb::arg("named"))
        .def("add", &PackedProfile::add, nb::arg("named"))
        .def("set_statistics", &PackedProfile::set_statistics, nb::arg("ids"), nb::arg("weights"),
             nb::arg("statistics"), nb::arg("marks"));
    m.def("measure_profiles", &measure_profiles, nb::arg("profiles"), nb::arg("measures").noconvert(),
          nb::arg("marks").noconvert());
    m.def("overlap_pairs", &overlap_pairs, nb::arg("profiles"), nb::arg("first"), nb::arg("second"),
          nb::arg("inner").noconvert(), nb::arg("shared").noconvert());
    m.def("strongest_names", &strongest_names, nb::arg("profiles"), nb::arg("first"), nb::arg("last"), nb::arg("tables"),
          nb::arg("k"));
    m.def("find_new_name", &find_new_name, nb::arg("profiles"), nb::arg("articles"), nb::arg("times"),
          nb::arg("languages"), nb::arg("part"), nb::arg("prior"), nb::arg("least"));
}
