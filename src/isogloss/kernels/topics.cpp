// Topic models: topic proportions of documents under given topics, and a collapsed Gibbs sampler.
//
// Both look at a document as counts of columns; columns of several languages stand side by side.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "simd.hpp"
#include "threads.hpp"

namespace {

namespace nb = nanobind;
using isogloss::i32;
using isogloss::i64;
using isogloss::In;
using isogloss::In2;
using isogloss::Out;
using isogloss::Out2;
using u64 = std::uint64_t;

// Probabilities below this are zero: their inverse would not be finite.
constexpr double kTiny = 1e-300;
// Documents that a thread takes at a time.
constexpr i64 kDocuments = 64;

// By psi(x) = psi(x + 1) - 1 / x, then the asymptotic series; exact to about 1e-14 from 10 on.
double digamma(double x) {
    double below = 0;
    for (; x < 10; ++x) below += 1 / x;
    const double r = 1 / (x * x);
    return std::log(x) - 0.5 / x - below -
           r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r * (1.0 / 132)))));
}

ISOGLOSS_CLONES
double dot(const double *__restrict a, const double *__restrict b, i64 n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (i64 i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

ISOGLOSS_CLONES
void add_scaled(double scale, const double *__restrict a, double *__restrict to, i64 n) {
#pragma omp simd
    for (i64 i = 0; i < n; ++i) to[i] += scale * a[i];
}

struct Documents {
    const i64 *starts;
    const i32 *columns;
    const double *counts;
    const double *weights;  // columns x topics
    const double *prior;
    i64 topics;
    bool point;
};

// exp(E[log theta]) under a Dirichlet distribution, or its mode with the prior as pseudo-counts.
void document_weights(const Documents &task, const double *expected, double *theta) {
    double total = 0;
    for (i64 k = 0; k < task.topics; ++k) total += task.prior[k] + expected[k];
    if (task.point) {
        const double inverse = total > 0 ? 1 / total : 0;
        for (i64 k = 0; k < task.topics; ++k) theta[k] = (task.prior[k] + expected[k]) * inverse;
        return;
    }
    const double shift = digamma(total);
    for (i64 k = 0; k < task.topics; ++k) theta[k] = std::exp(digamma(task.prior[k] + expected[k]) - shift);
}

// One document: expected counts of topics, updated until they change by less than the tolerance.
i64 find_proportions(const Documents &task, i64 d, double *expected, double *next, double *theta, double *ratio,
                     i64 updates, double tolerance) {
    const i64 begin = task.starts[d], end = task.starts[d + 1], k = task.topics;
    for (i64 done = 1;; ++done) {
        document_weights(task, expected, theta);
        std::fill(next, next + k, 0.0);
        for (i64 e = begin; e < end; ++e) {
            const double *column = task.weights + task.columns[e] * k;
            const double norm = dot(theta, column, k);
            ratio[e] = norm > kTiny ? task.counts[e] / norm : 0;
            add_scaled(ratio[e], column, next, k);
        }
        double change = 0;
        for (i64 j = 0; j < k; ++j) {
            next[j] *= theta[j];
            change += std::fabs(next[j] - expected[j]);
        }
        if (done >= updates || change < tolerance * static_cast<double>(k)) return done;
        std::copy(next, next + k, expected);
    }
}

// Updates q(theta) of every document. `expected` holds the counts that `theta` was made from, `next` those that
// follow from it, `ratio` the count of each entry over the probability of its column.
i64 topic_proportions(In<i64> starts, In<i32> columns, In<double> counts, In2<double> weights, In<double> prior,
                      Out2<double> expected, Out2<double> next, Out2<double> theta, Out<double> ratio, i64 updates,
                      double tolerance, bool point, int threads) {
    const i64 n = static_cast<i64>(starts.shape(0)) - 1, k = static_cast<i64>(weights.shape(1));
    for (const auto *each : {&expected, &next, &theta})
        if (static_cast<i64>(each->shape(0)) != n || static_cast<i64>(each->shape(1)) != k)
            throw std::invalid_argument("expected documents x topics");
    if (static_cast<i64>(prior.shape(0)) != k || columns.shape(0) != counts.shape(0) ||
        ratio.shape(0) != counts.shape(0))
        throw std::invalid_argument("lengths differ");
    const Documents task{starts.data(), columns.data(), counts.data(), weights.data(), prior.data(), k, point};
    std::atomic<i64> first{0}, done{0};
    nb::gil_scoped_release release;
    isogloss::run_team(std::max(threads, 1), [&](int) {
        for (i64 block; (block = first.fetch_add(kDocuments)) < n;) {
            i64 here = 0;
            for (i64 d = block; d < std::min(n, block + kDocuments); ++d)
                here += find_proportions(task, d, expected.data() + d * k, next.data() + d * k, theta.data() + d * k,
                                         ratio.data(), updates, tolerance);
            done += here;
        }
    });
    return done;
}

// A column of numbers from 0 to 1 (splitmix64).
class Random {
  public:
    explicit Random(u64 seed) : state_(seed) {}

    double operator()() {
        u64 z = state_ += 0x9e3779b97f4a7c15ULL;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
    }

  private:
    u64 state_;
};

// The topics that a document has, in no order, each with the number of its tokens that have it.
struct TopicLists {
    struct Entry {
        i32 topic, count;
    };
    const i64 *starts;
    Entry *entries;
    i32 *lengths;

    Entry *of(i32 d) const { return entries + starts[d]; }

    void add(i32 d, i32 topic) const {
        Entry *list = of(d);
        for (i32 j = 0; j < lengths[d]; ++j)
            if (list[j].topic == topic) {
                ++list[j].count;
                return;
            }
        list[lengths[d]++] = {topic, 1};
    }

    void take(i32 d, i32 topic) const {
        Entry *list = of(d);
        i32 j = 0;
        while (list[j].topic != topic) ++j;
        if (--list[j].count == 0) list[j] = list[--lengths[d]];
    }
};

TopicLists lists_of(In<i64> starts, Out2<i32> entries, Out<i32> lengths) {
    if (starts.shape(0) != lengths.shape(0) + 1 || entries.shape(1) != 2) throw std::invalid_argument("lengths differ");
    return {starts.data(), reinterpret_cast<TopicLists::Entry *>(entries.data()), lengths.data()};
}

// p(topic) of a token, up to a factor, is (n_dk + prior_k) q_k with q_k = (n_kw + word_prior) / (n_k + total_prior).
// The part with n_dk is a sum over the topics of the document. The part with the prior is kept in blocks, and
// changes in two places for each token.
class ColumnSampler {
  public:
    ColumnSampler(const double *prior, i64 topics)
        : prior_(prior), k_(topics), q_(topics), smooth_(topics), blocks_((topics + kBlock - 1) / kBlock), reached_(topics) {}

    void begin(double *words, double *totals, double word_prior, double total_prior) {
        words_ = words, totals_ = totals, word_prior_ = word_prior, total_prior_ = total_prior;
        std::fill(blocks_.begin(), blocks_.end(), 0.0);
        for (i64 k = 0; k < k_; ++k) {
            q_[k] = (words[k] + word_prior) / (totals[k] + total_prior);
            smooth_[k] = prior_[k] * q_[k];
            blocks_[k / kBlock] += smooth_[k];
        }
        total_ = 0;
        for (double block : blocks_) total_ += block;
    }

    void change(i32 topic, double by) {
        words_[topic] += by;
        totals_[topic] += by;
        q_[topic] = (words_[topic] + word_prior_) / (totals_[topic] + total_prior_);
        const double fresh = prior_[topic] * q_[topic], gain = fresh - smooth_[topic];
        smooth_[topic] = fresh;
        blocks_[topic / kBlock] += gain;
        total_ += gain;
    }

    i32 draw(const TopicLists::Entry *list, i32 length, Random &random) {
        double sum = 0;
        for (i32 j = 0; j < length; ++j) reached_[j] = sum += list[j].count * q_[list[j].topic];
        double u = random() * (sum + total_);
        if (u < sum) {
            i32 j = 0;
            while (j + 1 < length && reached_[j] <= u) ++j;
            return list[j].topic;
        }
        u -= sum;
        std::size_t block = 0;
        while (block + 1 < blocks_.size() && blocks_[block] <= u) u -= blocks_[block++];
        i64 k = static_cast<i64>(block) * kBlock;
        for (const i64 last = std::min(k_, k + kBlock) - 1; k < last && smooth_[k] <= u; ++k) u -= smooth_[k];
        return static_cast<i32>(k);
    }

  private:
    static constexpr i64 kBlock = 16;
    const double *prior_;
    i64 k_;
    std::vector<double> q_, smooth_, blocks_, reached_;
    double *words_ = nullptr, *totals_ = nullptr;
    double word_prior_ = 0, total_prior_ = 0, total_ = 0;
};

// Sweeps over the tokens of a batch, column by column. `words` (columns x topics) and `totals` (views x topics)
// hold the counts of all batches and are kept up to date.
void sample_topics(In<i64> column_starts, In<i32> documents, Out<i32> assigned, In<i64> view_starts,
                   Out2<double> words, Out2<double> totals, In<double> prior, In<double> word_prior, In<i64> list_starts,
                   Out2<i32> list_entries, Out<i32> list_lengths, u64 seed, int sweeps) {
    const i64 columns = static_cast<i64>(column_starts.shape(0)) - 1, k = static_cast<i64>(words.shape(1));
    const i64 views = static_cast<i64>(view_starts.shape(0)) - 1;
    if (static_cast<i64>(words.shape(0)) != columns || static_cast<i64>(totals.shape(0)) != views || static_cast<i64>(totals.shape(1)) != k ||
        static_cast<i64>(prior.shape(0)) != k || static_cast<i64>(word_prior.shape(0)) != views ||
        documents.shape(0) != assigned.shape(0))
        throw std::invalid_argument("lengths differ");
    const TopicLists lists = lists_of(list_starts, list_entries, list_lengths);
    const i32 *document = documents.data();
    const i64 tokens = static_cast<i64>(documents.shape(0)), *start = column_starts.data();
    i32 *z = assigned.data();
    Random random(seed);
    ColumnSampler sampler(prior.data(), k);
    nb::gil_scoped_release release;
    for (int sweep = 0; sweep < sweeps; ++sweep) {
        for (i64 view = 0; view < views; ++view) {
            const i64 width = view_starts.data()[view + 1] - view_starts.data()[view];
            const double each = word_prior.data()[view], all = each * static_cast<double>(width);
            for (i64 c = view_starts.data()[view]; c < view_starts.data()[view + 1]; ++c) {
                if (start[c] == start[c + 1]) continue;
                sampler.begin(words.data() + c * k, totals.data() + view * k, each, all);
                for (i64 t = start[c]; t < start[c + 1]; ++t) {
                    ISOGLOSS_PREFETCH(lists.of(document[std::min(t + 8, tokens - 1)]), 1);
                    const i32 d = document[t];
                    lists.take(d, z[t]);
                    sampler.change(z[t], -1);
                    z[t] = sampler.draw(lists.of(d), lists.lengths[d], random);
                    sampler.change(z[t], 1);
                    lists.add(d, z[t]);
                }
            }
        }
    }
}

// How many tokens of each column have each topic.
void count_topics(In<i64> column_starts, In<i32> assigned, Out2<double> out) {
    const i64 columns = static_cast<i64>(out.shape(0)), k = static_cast<i64>(out.shape(1));
    if (static_cast<i64>(column_starts.shape(0)) != columns + 1) throw std::invalid_argument("lengths differ");
    const i64 *start = column_starts.data();
    nb::gil_scoped_release release;
    for (i64 c = 0; c < columns; ++c)
        for (i64 t = start[c]; t < start[c + 1]; ++t) ++out.data()[c * k + assigned.data()[t]];
}

// Fills the lists of topics of documents from the topics of their tokens.
void list_topics(In<i32> documents, In<i32> assigned, In<i64> list_starts, Out2<i32> list_entries,
                 Out<i32> list_lengths) {
    if (documents.shape(0) != assigned.shape(0)) throw std::invalid_argument("lengths differ");
    const TopicLists lists = lists_of(list_starts, list_entries, list_lengths);
    nb::gil_scoped_release release;
    for (std::size_t t = 0; t < documents.shape(0); ++t) lists.add(documents.data()[t], assigned.data()[t]);
}

}  // namespace

void bind_topics(nb::module_ &m) {
    m.def("topic_proportions", &topic_proportions, nb::arg("starts"), nb::arg("columns"), nb::arg("counts"),
          nb::arg("weights"), nb::arg("prior"), nb::arg("expected").noconvert(), nb::arg("next").noconvert(),
          nb::arg("theta").noconvert(), nb::arg("ratio").noconvert(), nb::arg("updates"), nb::arg("tolerance"),
          nb::arg("point"), nb::arg("threads"));
    m.def("sample_topics", &sample_topics, nb::arg("column_starts"), nb::arg("documents"),
          nb::arg("assigned").noconvert(), nb::arg("view_starts"), nb::arg("words").noconvert(),
          nb::arg("totals").noconvert(), nb::arg("prior"), nb::arg("word_prior"),
          nb::arg("list_starts"), nb::arg("list_entries").noconvert(), nb::arg("list_lengths").noconvert(), nb::arg("seed"), nb::arg("sweeps"));
    m.def("count_topics", &count_topics, nb::arg("column_starts"), nb::arg("assigned"), nb::arg("out").noconvert());
    m.def("list_topics", &list_topics, nb::arg("documents"), nb::arg("assigned"), nb::arg("list_starts"),
          nb::arg("list_entries").noconvert(), nb::arg("list_lengths").noconvert());
}
