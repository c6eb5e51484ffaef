// The E-step of IBM Models 3, 4 and 5 in one direction: over the neighbourhood of a hill-climbed alignment.
//
// A word that generates, at i = 1 .. I, has a fertility and a cept, the positions of its words; NULL (i = 0) gets
// at most half of the J words. Model 3 places each word by a table over positions. Model 4 places the first
// word of a cept (its head) relative to the centre of the cept before, and the others relative to the word
// before them. Model 5 counts these distances in places that are still vacant, and only over places that leave room
// for the rest of the cept, so that no probability is lost.
//
// Blocks of sentences in two phases, as in alignment.cpp: readings in any order, then sums in order.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "reading.hpp"
#include "threads.hpp"

namespace nb = nanobind;

namespace {

using namespace isogloss;

constexpr i64 kBlock = 256;

void read_neighbours(Reading &reading, Found &found) {
    const double here = reading.log_probability();
    const auto &neighbours = reading.neighbours();
    double total = 1;
    for (const Neighbour &n : neighbours) total += std::exp(n.gain);
    reading.collect(1 / total, found);
    for (const Neighbour &n : neighbours) {
        reading.visit(n);
        reading.collect(std::exp(n.gain) / total, found);
        reading.leave(n);
    }
    found.log_likelihood = here + std::log(total);
}

// Calls visit for every possible alignment of J words to I and NULL.
template <class Visit>
void each_alignment(Reading &reading, i64 I, i64 J, Visit &&visit) {
    std::vector<i32> a(J, -1);
    for (;;) {
        if (reading.possible(a.data())) {
            reading.set(a.data(), false);
            visit(a, reading.log_probability());
        }
        i64 j = 0;
        while (j < J && ++a[j] == I) a[j++] = -1;
        if (j == J) return;
    }
}

void read_all(Reading &reading, i64 I, i64 J, i32 *best, Found &found) {
    double top = kNever, total = 0;
    std::vector<i32> kept;
    each_alignment(reading, I, J, [&](const std::vector<i32> &a, double p) {
        if (p > top) {
            top = p;
            kept = a;
        }
    });
    each_alignment(reading, I, J, [&](const std::vector<i32> &, double p) { total += std::exp(p - top); });
    each_alignment(reading, I, J, [&](const std::vector<i32> &, double p) {
        reading.collect(std::exp(p - top) / total, found);
    });
    std::copy(kept.begin(), kept.end(), best);
    found.log_likelihood = top + std::log(total);
}

void find(const Task &task, i64 s, Reading &reading, i32 *best, Found &found) {
    found.used = false;
    if (!task.fits(s)) return;
    const i64 I = task.n_from(s), J = task.n_to(s);
    found.clear((I + 1) * J, I * (task.most + 1));
    reading.open(s);
    if (task.mode == kAll) return read_all(reading, I, J, best, found);
    reading.set(best, true);
    if (task.mode == kNeighbours) {
        reading.climb();
        reading.store(best);
        return read_neighbours(reading, found);
    }
    found.log_likelihood = reading.log_probability();
    reading.collect(1.0, found);
}

void add_alone(const Task &task, i64 s, const Found &found, const Sums &sums) {
    const i64 I = task.n_from(s), J = task.n_to(s), width = task.most + 1;
    const i32 *e = task.from + task.from_offsets[s], *f = task.to + task.to_offsets[s];
    for (i64 j = 0; j < J; ++j) sums.null[f[j]] += found.links[j];
    for (i64 i = 0; i < I; ++i)
        for (i64 n = 0; n < width; ++n) sums.fertility[e[i] * width + n] += found.fertility[i * width + n];
    if (task.kind == 3)
        for (i64 i = 0; i < I; ++i)
            for (i64 j = 0; j < J; ++j)
                sums.places[task.table_offsets[s] + task.cell(i, j, I, J)] += found.links[(i + 1) * J + j];
    for (const Event &x : found.heads) sums.heads[x.at] += x.weight;
    for (const Event &x : found.heads_reached) sums.heads_reached[x.at] += x.weight;
    for (const Event &x : found.others) sums.others[x.at] += x.weight;
    for (const Event &x : found.others_reached) sums.others_reached[x.at] += x.weight;
    sums.scalars[0] += found.null_words;
    sums.scalars[1] += found.other_words;
    sums.scalars[2] += static_cast<double>(J);
}

// Each slot is summed by the one thread that owns it.
void add_links(const Task &task, i64 s, const Found &found, int id, int threads, double *links) {
    const i64 I = task.n_from(s), J = task.n_to(s);
    const i32 *slot = task.slots + task.cells[s];
    for (i64 i = 0; i < I; ++i)
        for (i64 j = 0; j < J; ++j) {
            const double p = found.links[(i + 1) * J + j];
            const i32 at = slot[task.cell(i, j, I, J)];
            if (p != 0 && at >= 0 && (at >> 3) % threads == id) links[2 * i64{at} + task.direction] += p;
        }
}

void expect(const Task &task, int threads, i32 *best, double *log_likelihood, const Sums &sums) {
    std::vector<Found> found(kBlock);
    std::atomic<i64> next{0};
    isogloss::Barrier barrier(threads);
    isogloss::run_team(threads, [&](int id) {
        Reading reading(task);
        for (i64 first = 0; first < task.sentences; first += kBlock) {
            const i64 end = std::min(task.sentences, first + kBlock);
            for (i64 s; (s = first + next.fetch_add(1)) < end;) {
                find(task, s, reading, best + task.to_offsets[s], found[s - first]);
                log_likelihood[s] = found[s - first].used ? found[s - first].log_likelihood : 0.0;
            }
            barrier.wait();
            if (id == 0) next.store(0);
            for (i64 s = first; s < end; ++s) {
                if (!found[s - first].used) continue;
                if (id == 0) add_alone(task, s, found[s - first], sums);
                add_links(task, s, found[s - first], id, threads, sums.links);
            }
            barrier.wait();
        }
    });
}

Displacement make_displacement(nb::handle log_weight, nb::handle running) {
    auto w = fixed<In2<double>>(log_weight), r = fixed<In2<double>>(running);
    if (w.shape(1) % 2 == 0 || r.shape(0) != w.shape(0) || r.shape(1) != w.shape(1) + 1)
        throw std::invalid_argument("displacements have the wrong shape");
    return {w.data(), r.data(), static_cast<i64>(w.shape(0)), (static_cast<i64>(w.shape(1)) - 1) / 2};
}

// text as in alignment.cpp; model (lexicon, null, fertility, places, heads, running heads, others, running others,
// classes that generate, classes generated, number of each); settings (direction, kind, mode, NULL's chance).
Task make_task(nb::tuple text, nb::tuple model, nb::tuple settings) {
    Task t{};
    t.direction = nb::cast<int>(settings[0]);
    t.kind = nb::cast<int>(settings[1]);
    const int mode = nb::cast<int>(settings[2]);
    const double null = nb::cast<double>(settings[3]);
    if ((t.direction | 1) != 1 || t.kind < 3 || t.kind > 5 || mode < kGiven || mode > kAll || !(null > 0 && null < 1))
        throw std::invalid_argument("direction, kind, mode or null is out of range");
    t.mode = static_cast<Mode>(mode);
    t.log_null = std::log(null);
    t.log_rest = std::log1p(-null);
    const int from = t.direction == 0 ? 0 : 2, to = 2 - from;
    t.from = fixed<In<i32>>(text[from]).data();
    t.to = fixed<In<i32>>(text[to]).data();
    auto from_offsets = fixed<In<i64>>(text[from + 1]), to_offsets = fixed<In<i64>>(text[to + 1]);
    auto cells = fixed<In<i64>>(text[4]), table_offsets = fixed<In<i64>>(text[6]);
    auto slots = fixed<In<i32>>(text[5]);
    const std::size_t n = from_offsets.shape(0);
    if (n == 0 || to_offsets.shape(0) != n || cells.shape(0) != n || table_offsets.shape(0) + 1 != n ||
        static_cast<i64>(slots.shape(0)) != cells.data()[n - 1])
        throw std::invalid_argument("offsets, cells and slots do not fit each other");
    t.from_offsets = from_offsets.data();
    t.to_offsets = to_offsets.data();
    t.cells = cells.data();
    t.table_offsets = table_offsets.data();
    t.slots = slots.data();
    t.sentences = static_cast<i64>(n) - 1;
    t.lexicon = fixed<In<float>>(model[0]).data();
    t.null = fixed<In<float>>(model[1]).data();
    auto fertility = fixed<In2<double>>(model[2]);
    if (fertility.shape(1) < 2) throw std::invalid_argument("fertility needs a column for 0 and one for 1 at least");
    t.fertility = fertility.data();
    t.most = static_cast<i64>(fertility.shape(1)) - 1;
    t.places = fixed<In<double>>(model[3]).data();
    t.heads = make_displacement(model[4], model[5]);
    t.others = make_displacement(model[6], model[7]);
    t.from_class = fixed<In<i32>>(model[8]).data();
    t.to_class = fixed<In<i32>>(model[9]).data();
    t.from_classes = nb::cast<i64>(model[10]);
    t.to_classes = nb::cast<i64>(model[11]);
    if (t.kind > 3 && (t.heads.rows != (t.from_classes + 1) * t.to_classes || t.others.rows != t.to_classes))
        throw std::invalid_argument("displacements and classes do not fit each other");
    for (i64 s = 0; s < t.sentences; ++s) {
        if (!t.fits(s)) continue;
        if (t.kind > 3 && std::min(t.heads.reach, t.others.reach) < t.n_to(s))
            throw std::invalid_argument("a sentence is longer than the displacements reach");
        if (t.mode == kAll && std::pow(t.n_from(s) + 1.0, static_cast<double>(t.n_to(s))) > kMost)
            throw std::invalid_argument("a sentence pair is too long to enumerate its alignments");
    }
    return t;
}

// best: where each generated word comes from, -1 for NULL; in, where to begin, and out, the best found.
void expect_fertility(nb::tuple text, nb::tuple model, nb::tuple settings, int threads, Out<i32> best,
                      Out<double> log_likelihood, Out2<double> links, nb::tuple sums) {
    const Task task = make_task(text, model, settings);
    if (static_cast<i64>(best.shape(0)) != task.to_offsets[task.sentences] ||
        static_cast<i64>(log_likelihood.shape(0)) != task.sentences || links.shape(1) != 2)
        throw std::invalid_argument("best, log_likelihood or links has the wrong shape");
    if (threads < 1) throw std::invalid_argument("threads must be at least 1");
    auto scalars = fixed<Out<double>>(sums[7]);
    if (scalars.shape(0) != 3) throw std::invalid_argument("there are three scalars");
    const Sums into{links.data(),
                    fixed<Out<double>>(sums[0]).data(),
                    fixed<Out2<double>>(sums[1]).data(),
                    fixed<Out<double>>(sums[2]).data(),
                    fixed<Out2<double>>(sums[3]).data(),
                    fixed<Out2<double>>(sums[4]).data(),
                    fixed<Out2<double>>(sums[5]).data(),
                    fixed<Out2<double>>(sums[6]).data(),
                    scalars.data()};
    nb::gil_scoped_release release;
    expect(task, threads, best.data(), log_likelihood.data(), into);
}

}  // namespace

void bind_fertility(nb::module_ &m) {
    using namespace nb::literals;
    m.def("expect_fertility", &expect_fertility, "text"_a, "model"_a, "settings"_a, "threads"_a, "best"_a.noconvert(),
          "log_likelihood"_a.noconvert(), "links"_a.noconvert(), "sums"_a);
}
