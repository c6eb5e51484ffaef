// Reading a sentence pair under IBM Models 3, 4 and 5: its probability, and what each move and swap would gain.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "fertility.hpp"

namespace {

// One sentence pair under one alignment, which moves and swaps change.
class Reading {
  public:
    explicit Reading(const Task &task) : task_(task), orders_(task.most + 1, 0.0) {
        for (i64 n = 1; task.kind == 3 && n <= task.most; ++n) orders_[n] = orders_[n - 1] + std::log(static_cast<double>(n));
    }

    void open(i64 s) {
        I_ = task_.n_from(s);
        J_ = task_.n_to(s);
        e_ = task_.from + task_.from_offsets[s];
        f_ = task_.to + task_.to_offsets[s];
        places_ = task_.kind == 3 ? task_.places + task_.table_offsets[s] : nullptr;
        word_.resize((I_ + 1) * J_);
        const i32 *slot = task_.slots + task_.cells[s];
        for (i64 j = 0; j < J_; ++j) {
            word_[j] = task_.null[f_[j]];
            for (i64 i = 1; i <= I_; ++i) {
                const i32 at = slot[task_.cell(i - 1, j, I_, J_)];
                word_[i * J_ + j] = at < 0 ? kUnknown : task_.lexicon[at];
            }
        }
        nothing_.assign(J_ + 2, kNever);
        for (i64 n = 0; 2 * n <= J_; ++n)
            nothing_[n] = log_choose(J_ - n, n) + n * task_.log_null + (J_ - 2 * n) * task_.log_rest;
    }

    // Takes an alignment (-1 is NULL), with words of too large cepts sent elsewhere.
    void set(const i32 *alignment, bool mend) {
        a_.assign(J_, 0);
        size_.assign(I_ + 1, 0);
        total_.assign(I_ + 1, 0);
        member_.assign((I_ + 1) * task_.most, 0);
        apart_.assign(I_ + 1, 0.0);
        size_[0] = J_;
        for (i64 j = 0; j < J_; ++j)
            if (alignment[j] >= 0 && (!mend || size_[alignment[j] + 1] < task_.most)) shift(j, alignment[j] + 1);
        for (i64 j = 0; mend && j < J_ && 2 * size_[0] > J_; ++j)
            if (a_[j] == 0) shift(j, nearest_with_room(j));
        measure();
    }

    bool possible(const i32 *alignment) {
        std::vector<i64> size(I_ + 1, 0);
        for (i64 j = 0; j < J_; ++j) ++size[alignment[j] + 1];
        if (2 * size[0] > J_) return false;
        return std::all_of(size.begin() + 1, size.end(), [&](i64 n) { return n <= task_.most; });
    }

    double log_probability() {
        double sum = nothing_[size_[0]] + measure();
        for (i64 j = 0; j < J_; ++j) sum += word_[a_[j] * J_ + j];
        for (i64 i = 1; i <= I_; ++i) sum += births(i, size_[i]);
        return sum;
    }

    double move_gain(i64 j, i64 k) {
        const i64 i = a_[j];
        if (i == k || !room(k)) return kNever;
        const double gain = word_[k * J_ + j] - word_[i * J_ + j] + births(i, size_[i] - 1) - births(i, size_[i]) +
                            births(k, size_[k] + 1) - births(k, size_[k]);
        if (task_.kind == 3) return gain + place(k, j) - place(i, j);
        const auto touched = affected(i, k);
        shift(j, k);
        const double change = remeasured(touched);
        shift(j, i);
        return gain + change;
    }

    double swap_gain(i64 j, i64 l) {
        const i64 i = a_[j], k = a_[l];
        if (i == k) return kNever;
        const double gain =
            word_[k * J_ + j] + word_[i * J_ + l] - word_[i * J_ + j] - word_[k * J_ + l];
        if (task_.kind == 3) return gain + place(k, j) + place(i, l) - place(i, j) - place(k, l);
        const auto touched = affected(i, k);
        exchange(j, l);
        const double change = remeasured(touched);
        exchange(j, l);
        return gain + change;
    }

    void move(i64 j, i64 k) {
        shift(j, k);
        measure();
    }
    void swap(i64 j, i64 l) {
        exchange(j, l);
        measure();
    }

    // The best move of each word, then swaps, until none helps.
    void climb() {
        for (bool better = true; better;) {
            better = false;
            for (i64 j = 0; j < J_; ++j) better |= climb_move(j);
            for (i64 j = 0; j < J_; ++j)
                for (i64 l = j + 1; l < J_; ++l)
                    if (swap_gain(j, l) > kSlack) {
                        swap(j, l);
                        better = true;
                    }
        }
    }

    // The moves and swaps that are not negligible.
    const std::vector<Neighbour> &neighbours() {
        neighbours_.clear();
        const auto keep = [&](double gain, i64 j, i64 other, bool swapped) {
            if (gain > kNeglect) neighbours_.push_back({gain, j, other, a_[j], swapped});
        };
        for (i64 j = 0; j < J_; ++j) {
            for (i64 k = 0; k <= I_; ++k) keep(move_gain(j, k), j, k, false);
            for (i64 l = j + 1; l < J_; ++l) keep(swap_gain(j, l), j, l, true);
        }
        return neighbours_;
    }
    void visit(const Neighbour &n) { n.swapped ? exchange(n.word, n.other) : shift(n.word, n.other); }
    void leave(const Neighbour &n) { n.swapped ? exchange(n.word, n.other) : shift(n.word, n.home); }

    void collect(double weight, Found &found) const {
        for (i64 j = 0; j < J_; ++j) found.links[a_[j] * J_ + j] += weight;
        for (i64 i = 1; i <= I_; ++i) found.fertility[(i - 1) * (task_.most + 1) + size_[i]] += weight;
        found.null_words += weight * size_[0];
        found.other_words += weight * (J_ - 2 * size_[0]);
        if (task_.kind == 4) {
            const auto add = [&](bool head, i64 row, i64 d) {
                auto &events = head ? found.heads : found.others;
                events.push_back({(head ? task_.heads : task_.others).at(row, d), weight});
            };
            for (i64 i = 1; i <= I_; ++i) distances(i, add);
        }
        if (task_.kind == 5)
            vacant_distances([&](bool head, i64 row, i64 d, i64 low, i64 high) {
                const Displacement &table = head ? task_.heads : task_.others;
                (head ? found.heads : found.others).push_back({table.at(row, d), weight});
                auto &reached = head ? found.heads_reached : found.others_reached;
                const double share = weight / table.mass(row, low, high);
                reached.push_back({table.at(row, low) + row, share});
                reached.push_back({table.at(row, high) + row + 1, -share});
            });
    }

    void store(i32 *alignment) const {
        for (i64 j = 0; j < J_; ++j) alignment[j] = static_cast<i32>(a_[j]) - 1;
    }

  private:
    static double log_choose(i64 n, i64 k) {
        return std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0);
    }
    // Log-probability that word i has n words; in Model 3 they come in any order.
    double births(i64 i, i64 n) const {
        if (i == 0) return nothing_[n];
        return task_.fertility[i64{e_[i - 1]} * (task_.most + 1) + n] + orders_[n];
    }
    double place(i64 i, i64 j) const { return i == 0 ? 0.0 : places_[task_.cell(i - 1, j, I_, J_)]; }
    bool room(i64 k) const { return k == 0 ? 2 * (size_[0] + 1) <= J_ : size_[k] < task_.most; }
    i64 nearest_with_room(i64 j) const {
        const i64 centre = 1 + j * I_ / J_;
        for (i64 d = 0; d <= I_; ++d)
            for (const i64 i : {centre - d, centre + d})
                if (i >= 1 && i <= I_ && size_[i] < task_.most) return i;
        return 0;
    }

    // Word j (from zero) to cept k; members are places counted from one, in ascending order.
    void shift(i64 j, i64 k) {
        const i64 i = a_[j], most = task_.most;
        if (i > 0) {
            i64 *m = member_.data() + i * most, *end = m + size_[i];
            std::copy(std::find(m, end, j + 1) + 1, end, std::find(m, end, j + 1));
            total_[i] -= j + 1;
        }
        --size_[i];
        if (k > 0) {
            i64 *m = member_.data() + k * most, n = size_[k];
            for (; n > 0 && m[n - 1] > j + 1; --n) m[n] = m[n - 1];
            m[n] = j + 1;
            total_[k] += j + 1;
        }
        ++size_[k];
        a_[j] = k;
    }
    // By way of NULL, so that no cept is over-full in between.
    void exchange(i64 j, i64 l) {
        const i64 i = a_[j], k = a_[l];
        shift(j, 0);
        shift(l, i);
        shift(j, k);
    }

    i64 before(i64 i) const {
        do --i;
        while (i > 0 && size_[i] == 0);
        return i;
    }
    i64 after(i64 i) const {
        do ++i;
        while (i <= I_ && size_[i] == 0);
        return i;
    }
    i64 centre(i64 i) const { return i == 0 ? 0 : (total_[i] + size_[i] - 1) / size_[i]; }
    i64 head_row(i64 i, i64 place) const {
        const i64 last = i == 0 ? task_.from_classes : task_.from_class[e_[i - 1]];
        return last * task_.to_classes + task_.to_class[f_[place - 1]];
    }
    i64 other_row(i64 place) const { return task_.to_class[f_[place - 1]]; }

    // Model 4: visit(head, context, displacement) for the words of cept i.
    template <class Visit>
    void distances(i64 i, Visit &&visit) const {
        const i64 *m = member_.data() + i * task_.most;
        if (size_[i] == 0) return;
        const i64 last = before(i);
        visit(true, head_row(last, m[0]), m[0] - centre(last));
        for (i64 n = 1; n < size_[i]; ++n) visit(false, other_row(m[n]), m[n] - m[n - 1]);
    }

    // Model 5: visit(head, context, displacement, least, most displacement), all in vacant places.
    template <class Visit>
    void vacant_distances(Visit &&visit) const {
        Vacancies vacant(J_);
        i64 free = J_, last = 0;
        for (i64 i = 1; i <= I_; ++i) {
            const i64 *m = member_.data() + i * task_.most, size = size_[i];
            if (size == 0) continue;
            const i64 from = vacant.until(centre(last));
            visit(true, head_row(last, m[0]), vacant.until(m[0]) - from, 1 - from, free - size + 1 - from);
            vacant.take(m[0]);
            --free;
            for (i64 n = 1; n < size; ++n, --free) {
                const i64 here = vacant.until(m[n - 1]);
                visit(false, other_row(m[n]), vacant.until(m[n]) - here, i64{1}, free - here - (size - n - 1));
                vacant.take(m[n]);
            }
            last = i;
        }
    }

    double apart(i64 i) const {
        double sum = 0;
        distances(i, [&](bool head, i64 row, i64 d) {
            const Displacement &table = head ? task_.heads : task_.others;
            sum += table.log_weight[table.at(row, d)];
        });
        return sum;
    }
    double apart_in_vacancies() const {
        double sum = 0, mass = 1;
        vacant_distances([&](bool head, i64 row, i64 d, i64 low, i64 high) {
            const Displacement &table = head ? task_.heads : task_.others;
            sum += table.log_weight[table.at(row, d)];
            mass *= table.mass(row, low, high);
            if (mass < 1e-200) {
                sum -= std::log(mass);
                mass = 1;
            }
        });
        return sum - std::log(mass);
    }

    // Distortion of the whole alignment, kept for the gains.
    double measure() {
        distortion_ = 0;
        if (task_.kind == 3)
            for (i64 j = 0; j < J_; ++j) distortion_ += place(a_[j], j);
        if (task_.kind == 4)
            for (i64 i = 1; i <= I_; ++i) distortion_ += apart_[i] = apart(i);
        if (task_.kind == 5) distortion_ = apart_in_vacancies();
        return distortion_;
    }

    struct Touched {
        i64 cept[4];
        int n = 0;
        void add(i64 i, i64 I) {
            if (i >= 1 && i <= I && std::find(cept, cept + n, i) == cept + n) cept[n++] = i;
        }
    };
    // Cepts whose distances in Model 4 change when words move between i and k.
    Touched affected(i64 i, i64 k) const {
        Touched out;
        if (task_.kind == 5) return out;
        for (const i64 c : {i, k})
            if (c > 0) {
                out.add(c, I_);
                out.add(after(c), I_);
            }
        return out;
    }
    double remeasured(const Touched &touched) const {
        if (task_.kind == 5) return apart_in_vacancies() - distortion_;
        double change = 0;
        for (int n = 0; n < touched.n; ++n) change += apart(touched.cept[n]) - apart_[touched.cept[n]];
        return change;
    }

    bool climb_move(i64 j) {
        double most = kSlack;
        i64 best = -1;
        for (i64 k = 0; k <= I_; ++k) {
            const double gain = move_gain(j, k);
            if (gain > most) {
                most = gain;
                best = k;
            }
        }
        if (best >= 0) move(j, best);
        return best >= 0;
    }

    const Task &task_;
    i64 I_ = 0, J_ = 0;
    const i32 *e_ = nullptr, *f_ = nullptr;
    const double *places_ = nullptr;
    double distortion_ = 0;
    std::vector<double> orders_, word_, nothing_, apart_;
    std::vector<Neighbour> neighbours_;
    std::vector<i64> a_, size_, total_, member_;
};

}  // namespace
