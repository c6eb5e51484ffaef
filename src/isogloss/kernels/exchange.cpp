// Word classes by exchange: each word in turn moves to the class that raises the class-bigram likelihood most.
//
// With N(c, d) the bigrams from class c to class d, L(c) those that begin in c and R(c) those that end there, the
// part of the log-likelihood that depends on the classes is  sum x(N) - sum x(L) - sum x(R),  x(n) = n log n.
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"

namespace nb = nanobind;

namespace {

using namespace isogloss;

constexpr double kSlack = 1e-9;  // a gain that rounding may feign; of equal classes the first is taken

// n log n, from a table while n is small.
class Entropy {
  public:
    Entropy() : table_(1 << 16) {
        for (std::size_t n = 1; n < table_.size(); ++n) table_[n] = n * std::log(static_cast<double>(n));
    }
    double operator()(i64 n) const {
        return n < static_cast<i64>(table_.size()) ? table_[n] : n * std::log(static_cast<double>(n));
    }

  private:
    std::vector<double> table_;
};

// Bigrams of words, by first or by second word.
struct Neighbours {
    const i64 *rows;
    const i32 *words;
    const i64 *counts;
};

// Bigrams between one word and each class, other than with itself.
struct Profile {
    std::vector<i64> count;
    std::vector<i32> classes;
    i64 total = 0;

    explicit Profile(i64 n_classes) : count(n_classes, 0) {}
    i64 gather(const Neighbours &around, i32 word, const i32 *class_of) {
        for (const i32 c : classes) count[c] = 0;
        classes.clear();
        total = 0;
        i64 itself = 0;
        for (i64 k = around.rows[word]; k < around.rows[word + 1]; ++k) {
            total += around.counts[k];
            if (around.words[k] == word) {
                itself = around.counts[k];
                continue;
            }
            const i32 c = class_of[around.words[k]];
            if (count[c] == 0) classes.push_back(c);
            count[c] += around.counts[k];
        }
        return itself;
    }
};

class Exchange {
  public:
    Exchange(Neighbours next, Neighbours before, i64 n_words, i64 n_classes, i32 *class_of)
        : next_(next), before_(before), n_(n_classes), class_of_(class_of), joint_(n_ * n_, 0), left_(n_, 0),
          right_(n_, 0), followers_(n_), leaders_(n_) {
        for (i32 w = 0; w < n_words; ++w)
            for (i64 k = next.rows[w]; k < next.rows[w + 1]; ++k) {
                const i32 c = class_of[w], d = class_of[next.words[k]];
                joint_[c * n_ + d] += next.counts[k];
                left_[c] += next.counts[k];
                right_[d] += next.counts[k];
            }
    }

    double objective() const {
        double sum = 0;
        for (const i64 n : joint_) sum += x_(n);
        for (i64 c = 0; c < n_; ++c) sum -= x_(left_[c]) + x_(right_[c]);
        return sum;
    }

    // One word to its best class; whether it moved.
    bool place(i32 word) {
        itself_ = followers_.gather(next_, word, class_of_);
        leaders_.gather(before_, word, class_of_);
        if (followers_.total + leaders_.total == 0) return false;
        const i32 home = class_of_[word];
        shift(home, -1);
        i32 best = home;
        double most = gain(home);
        for (i32 c = 0; c < n_; ++c) {
            const double here = gain(c);
            if (here > most + kSlack) {
                most = here;
                best = c;
            }
        }
        class_of_[word] = best;
        shift(best, +1);
        return best != home;
    }

  private:
    // Adds the gathered word to a class, or takes it away.
    void shift(i32 c, i64 sign) {
        for (const i32 d : followers_.classes) joint_[c * n_ + d] += sign * followers_.count[d];
        for (const i32 d : leaders_.classes) joint_[d * n_ + c] += sign * leaders_.count[d];
        joint_[c * n_ + c] += sign * itself_;
        left_[c] += sign * followers_.total;
        right_[c] += sign * leaders_.total;
    }

    double gain(i32 c) const {
        double sum = 0;
        for (const i32 d : followers_.classes)
            if (d != c) sum += x_(joint_[c * n_ + d] + followers_.count[d]) - x_(joint_[c * n_ + d]);
        for (const i32 d : leaders_.classes)
            if (d != c) sum += x_(joint_[d * n_ + c] + leaders_.count[d]) - x_(joint_[d * n_ + c]);
        const i64 inside = joint_[c * n_ + c];
        sum += x_(inside + followers_.count[c] + leaders_.count[c] + itself_) - x_(inside);
        sum -= x_(left_[c] + followers_.total) - x_(left_[c]);
        return sum - (x_(right_[c] + leaders_.total) - x_(right_[c]));
    }

    Neighbours next_, before_;
    i64 n_;
    i32 *class_of_;
    std::vector<i64> joint_, left_, right_;
    Profile followers_, leaders_;
    i64 itself_ = 0;
    Entropy x_;
};

// Sweeps over the words until none moves; objective[k] is that after k sweeps. Returns the sweeps made.
i64 exchange_sweeps(In<i64> next_rows, In<i32> next_words, In<i64> next_counts, In<i64> before_rows,
                    In<i32> before_words, In<i64> before_counts, In<i32> order, i64 n_classes, Out<i32> class_of,
                    Out<double> objective) {
    const i64 n_words = static_cast<i64>(class_of.shape(0));
    if (static_cast<i64>(next_rows.shape(0)) != n_words + 1 || before_rows.shape(0) != next_rows.shape(0) ||
        next_words.shape(0) != next_counts.shape(0) || before_words.shape(0) != before_counts.shape(0) ||
        objective.shape(0) == 0)
        throw std::invalid_argument("rows, words, counts, classes and objective do not fit each other");
    for (i64 w = 0; w < n_words; ++w)
        if (class_of.data()[w] < 0 || class_of.data()[w] >= n_classes)
            throw std::invalid_argument("a class is out of range");
    nb::gil_scoped_release release;
    Exchange exchange({next_rows.data(), next_words.data(), next_counts.data()},
                      {before_rows.data(), before_words.data(), before_counts.data()}, n_words, n_classes,
                      class_of.data());
    objective.data()[0] = exchange.objective();
    const i64 sweeps = static_cast<i64>(objective.shape(0)) - 1;
    for (i64 sweep = 1; sweep <= sweeps; ++sweep) {
        i64 moved = 0;
        for (std::size_t k = 0; k < order.shape(0); ++k) moved += exchange.place(order.data()[k]);
        objective.data()[sweep] = exchange.objective();
        if (moved == 0) return sweep;
    }
    return sweeps;
}

}  // namespace

void bind_exchange(nb::module_ &m) {
    using namespace nb::literals;
    m.def("exchange_sweeps", &exchange_sweeps, "next_rows"_a, "next_words"_a, "next_counts"_a, "before_rows"_a,
          "before_words"_a, "before_counts"_a, "order"_a, "n_classes"_a, "class_of"_a.noconvert(),
          "objective"_a.noconvert());
}
