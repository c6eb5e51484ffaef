// Which words of two languages occur in the same sentence pair, and how alike they are spelt.
//
// A pair table is a CSR matrix: row = source word, columns = the target words it ever meets, ascending.
// The cell (i, j) of sentence pair s, of I source and J target words, is number cells[s] + i * J + j.
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "threads.hpp"

namespace nb = nanobind;

namespace {

using namespace isogloss;

// Where each source word occurs: sentence and position, word by word.
struct Occurrences {
    std::vector<i64> start;
    std::vector<i32> sentence, position;

    Occurrences(const i32 *words, const i64 *offsets, i64 sentences, i64 vocabulary)
        : start(vocabulary + 1, 0), sentence(offsets[sentences] - offsets[0]), position(sentence.size()) {
        for (i64 k = offsets[0]; k < offsets[sentences]; ++k) ++start[words[k] + 1];
        for (i64 v = 0; v < vocabulary; ++v) start[v + 1] += start[v];
        std::vector<i64> next(start.begin(), start.end() - 1);
        for (i64 s = 0; s < sentences; ++s)
            for (i64 k = offsets[s]; k < offsets[s + 1]; ++k) {
                const i64 at = next[words[k]]++;
                sentence[at] = static_cast<i32>(s);
                position[at] = static_cast<i32>(k - offsets[s]);
            }
    }
};

// Source words from first to last for each of a team, with about as many occurrences each.
std::vector<i64> shares(const Occurrences &at, int members) {
    const i64 words = static_cast<i64>(at.start.size()) - 1, all = at.start[words];
    std::vector<i64> ends(members + 1, words);
    for (int id = 0; id < members; ++id)
        ends[id] = std::lower_bound(at.start.begin(), at.start.end() - 1, all * id / members) - at.start.begin();
    return ends;
}

// The rows of some source words: how many target words each meets, and which.
void gather(const Occurrences &at, i64 first, i64 end, const i32 *f, const i64 *fo, i64 target_words, i64 *widths,
            std::vector<i32> &columns) {
    std::vector<i64> last(target_words, -1);
    for (i64 v = first; v < end; ++v) {
        const std::size_t begin = columns.size();
        for (i64 p = at.start[v]; p < at.start[v + 1]; ++p)
            for (i64 k = fo[at.sentence[p]]; k < fo[at.sentence[p] + 1]; ++k)
                if (last[f[k]] != v) {
                    last[f[k]] = v;
                    columns.push_back(f[k]);
                }
        std::sort(columns.begin() + begin, columns.end());
        widths[v] = static_cast<i64>(columns.size() - begin);
    }
}

// One after the other; each is let go as soon as it was copied.
std::vector<i32> joined(std::vector<std::vector<i32>> &parts) {
    std::vector<i32> out = std::move(parts[0]);
    std::size_t size = out.size();
    for (std::size_t id = 1; id < parts.size(); ++id) size += parts[id].size();
    out.reserve(size);
    for (std::size_t id = 1; id < parts.size(); ++id) {
        out.insert(out.end(), parts[id].begin(), parts[id].end());
        std::vector<i32>().swap(parts[id]);
    }
    out.shrink_to_fit();
    return out;
}

nb::tuple pair_table(In<i32> source, In<i64> source_offsets, In<i32> target, In<i64> target_offsets,
                     i64 source_words, i64 target_words, int threads) {
    const i64 sentences = static_cast<i64>(source_offsets.shape(0)) - 1;
    if (sentences < 0 || target_offsets.shape(0) != source_offsets.shape(0))
        throw std::invalid_argument("both sides need one offset more than there are sentences");
    std::vector<i64> rows(source_words + 1, 0);
    std::vector<i32> columns;
    {
        nb::gil_scoped_release release;
        const Occurrences at(source.data(), source_offsets.data(), sentences, source_words);
        const std::vector<i64> ends = shares(at, threads);
        std::vector<std::vector<i32>> parts(threads);
        run_team(threads, [&](int id) {
            gather(at, ends[id], ends[id + 1], target.data(), target_offsets.data(), target_words, rows.data() + 1,
                   parts[id]);
        });
        for (i64 v = 0; v < source_words; ++v) rows[v + 1] += rows[v];
        columns = joined(parts);
    }
    return nb::make_tuple(as_array(std::move(rows)), as_array(std::move(columns)));
}

// The table's position of every cell; -1 where the table lacks the pair.
void pair_slots(In<i32> source, In<i64> source_offsets, In<i32> target, In<i64> target_offsets, In<i64> cells,
                In<i64> rows, In<i32> columns, i64 target_words, int threads, Out<i32> slots) {
    const i64 sentences = static_cast<i64>(source_offsets.shape(0)) - 1;
    if (cells.shape(0) != source_offsets.shape(0) || static_cast<i64>(slots.shape(0)) != cells.data()[sentences])
        throw std::invalid_argument("slots has the wrong length");
    const i32 *f = target.data(), *column = columns.data();
    const i64 *fo = target_offsets.data(), *row = rows.data(), *cell = cells.data();
    nb::gil_scoped_release release;
    const Occurrences at(source.data(), source_offsets.data(), sentences, static_cast<i64>(rows.shape(0)) - 1);
    const std::vector<i64> ends = shares(at, threads);
    run_team(threads, [&](int id) {
        std::vector<i32> slot(target_words, -1);
        for (i64 v = ends[id]; v < ends[id + 1]; ++v) {
            if (at.start[v] == at.start[v + 1]) continue;
            for (i64 k = row[v]; k < row[v + 1]; ++k) slot[column[k]] = static_cast<i32>(k);
            for (i64 p = at.start[v]; p < at.start[v + 1]; ++p) {
                const i64 s = at.sentence[p], width = fo[s + 1] - fo[s];
                i32 *out = slots.data() + cell[s] + at.position[p] * width;
                for (i64 j = 0; j < width; ++j) out[j] = slot[f[fo[s] + j]];
            }
            for (i64 k = row[v]; k < row[v + 1]; ++k) slot[column[k]] = -1;
        }
    });
}

// Longest common subsequence over the longer length, 64 letters at a time in one word of bits.
void spelling_similarity(In<i32> source_letters, In<i64> source_offsets, In<i32> target_letters,
                         In<i64> target_offsets, i64 alphabet, In<i64> rows, In<i32> columns, Out<float> out) {
    constexpr i64 longest = 63;
    if (out.shape(0) != columns.shape(0)) throw std::invalid_argument("out has the wrong length");
    const i64 *eo = source_offsets.data(), *fo = target_offsets.data();
    nb::gil_scoped_release release;
    std::vector<std::uint64_t> mask(alphabet, 0);
    for (std::size_t v = 0; v + 1 < rows.shape(0); ++v) {
        const i32 *e = source_letters.data() + eo[v];
        const i64 n = std::min(longest, eo[v + 1] - eo[v]);
        for (i64 k = 0; k < n; ++k) mask[e[k]] |= std::uint64_t{1} << k;
        for (i64 q = rows.data()[v]; q < rows.data()[v + 1]; ++q) {
            const i64 w = columns.data()[q], m = fo[w + 1] - fo[w];
            const i32 *f = target_letters.data() + fo[w];
            std::uint64_t free = ~std::uint64_t{0};
            for (i64 k = 0; k < m; ++k) {
                const std::uint64_t hit = free & mask[f[k]];
                free = (free + hit) | (free - hit);
            }
            std::uint64_t matched = ~free & ((std::uint64_t{1} << n) - 1);
            i64 common = 0;
            for (; matched; matched &= matched - 1) ++common;
            const i64 length = std::max(eo[v + 1] - eo[v], m);
            out.data()[q] = length ? static_cast<float>(common) / static_cast<float>(length) : 0.0f;
        }
        for (i64 k = 0; k < n; ++k) mask[e[k]] = 0;
    }
}

}  // namespace

void bind_pairs(nb::module_ &m) {
    using namespace nb::literals;
    m.def("pair_table", &pair_table, "source"_a, "source_offsets"_a, "target"_a, "target_offsets"_a,
          "source_words"_a, "target_words"_a, "threads"_a);
    m.def("pair_slots", &pair_slots, "source"_a, "source_offsets"_a, "target"_a, "target_offsets"_a, "cells"_a,
          "rows"_a, "columns"_a, "target_words"_a, "threads"_a, "slots"_a.noconvert());
    m.def("spelling_similarity", &spelling_similarity, "source_letters"_a, "source_offsets"_a,
          "target_letters"_a, "target_offsets"_a, "alphabet"_a, "rows"_a, "columns"_a, "out"_a.noconvert());
}
