// From text to numbers: lines of two languages split at blanks, checked, and their words numbered; links as text.
//
// A span is where a piece of text begins and ends; one that is absent begins at -1. Words of one call are numbered from
// zero in the order in which they first occur, so that several calls together number them as one call would.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/stl/string.h>

#include "arrays.hpp"

namespace nb = nanobind;

namespace {

using namespace isogloss;

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct Span {
    const u8 *begin, *end;
    i64 size() const { return end - begin; }
};

// The blanks of ASCII; others are letters.
inline bool blank(u8 c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

inline bool follows(const u8 *p, u8 low, u8 high) { return *p >= low && *p <= high; }

// Bytes of the character at p, of which `room` are there; 0 when it is none: cut short, too long a form, half of a
// surrogate pair, or beyond the last character.
i64 character(const u8 *p, i64 room) {
    const u8 c = p[0];
    if (c < 0x80) return 1;
    if (c < 0xC2 || c > 0xF4) return 0;
    const i64 n = c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    if (room < n) return 0;
    const u8 low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80, high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    if (!follows(p + 1, low, high)) return 0;
    for (i64 k = 2; k < n; ++k)
        if (!follows(p + k, 0x80, 0xBF)) return 0;
    return n;
}

bool is_utf8(Span text) {
    for (const u8 *p = text.begin; p < text.end;) {
        u64 eight = 0;
        if (text.end - p >= 8) {
            std::memcpy(&eight, p, 8);
            if ((eight & 0x8080808080808080u) == 0) {
                p += 8;
                continue;
            }
        }
        const i64 n = character(p, text.end - p);
        if (n == 0) return false;
        p += n;
    }
    return true;
}

// The words of a sentence; false when it is not UTF-8, empty or too long.
bool split(Span text, i64 most, std::vector<Span> &words) {
    words.clear();
    if (!is_utf8(text)) return false;
    for (const u8 *p = text.begin; p < text.end;) {
        const u8 *begin = p;
        while (p < text.end && !blank(*p)) ++p;
        if (p > begin) words.push_back({begin, p});
        while (p < text.end && blank(*p)) ++p;
    }
    return !words.empty() && static_cast<i64>(words.size()) <= most;
}

u64 mixed(u64 h) {
    h *= 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

u64 hash(Span word) {
    u64 h = static_cast<u64>(word.size());
    const u8 *p = word.begin;
    for (; word.end - p >= 8; p += 8) {
        u64 eight;
        std::memcpy(&eight, p, 8);
        h = mixed(h ^ eight);
    }
    u64 rest = 0;
    for (int shift = 0; p < word.end; ++p, shift += 8) rest |= u64{*p} << shift;
    return mixed(mixed(h ^ rest));
}

// Numbers of words, by open addressing.
class Numbers {
  public:
    Numbers() : places_(1 << 12, -1) {}

    i32 operator()(Span word) {
        const u64 h = hash(word);
        std::size_t at = h & (places_.size() - 1);
        for (; places_[at] >= 0; at = (at + 1) & (places_.size() - 1))
            if (hashes_[places_[at]] == h && same(words_[places_[at]], word)) return places_[at];
        const i32 number = static_cast<i32>(words_.size());
        places_[at] = number;
        words_.push_back(word);
        hashes_.push_back(h);
        if (2 * words_.size() > places_.size()) grow();
        return number;
    }

    // All words in their order, with line feeds between them.
    std::vector<u8> joined() const {
        std::vector<u8> out;
        for (const Span word : words_) {
            if (!out.empty()) out.push_back('\n');
            out.insert(out.end(), word.begin, word.end);
        }
        return out;
    }

  private:
    static bool same(Span a, Span b) { return a.size() == b.size() && std::memcmp(a.begin, b.begin, a.size()) == 0; }

    void grow() {
        places_.assign(2 * places_.size(), -1);
        for (std::size_t k = 0; k < words_.size(); ++k) {
            std::size_t at = hashes_[k] & (places_.size() - 1);
            while (places_[at] >= 0) at = (at + 1) & (places_.size() - 1);
            places_[at] = static_cast<i32>(k);
        }
    }

    std::vector<i32> places_;
    std::vector<Span> words_;
    std::vector<u64> hashes_;
};

// Pieces of a text, checked to lie in it.
struct Spans {
    const u8 *text;
    const i64 *starts, *ends;
    i64 count;

    Spans(In<u8> bytes, In<i64> from, In<i64> to)
        : text(bytes.data()), starts(from.data()), ends(to.data()), count(static_cast<i64>(from.shape(0))) {
        if (from.shape(0) != to.shape(0)) throw std::invalid_argument("as many starts as ends are needed");
        for (i64 k = 0; k < count; ++k)
            if (starts[k] >= 0 && (ends[k] < starts[k] || ends[k] > static_cast<i64>(bytes.shape(0))))
                throw std::invalid_argument("a span lies outside the text");
    }
    bool has(i64 k) const { return starts[k] >= 0; }
    Span operator[](i64 k) const { return {text + starts[k], text + ends[k]}; }
};

// One side of the pairs, and what comes of it.
struct Side {
    Spans sentences;
    Numbers number;
    std::vector<Span> last;
    std::vector<i32> words;
    std::vector<i64> lengths;

    explicit Side(const Spans &spans) : sentences(spans), lengths(spans.count, 0) {}
    bool read(i64 s, i64 most) { return sentences.has(s) && split(sentences[s], most, last); }
    void keep(i64 s) {
        for (const Span word : last) words.push_back(number(word));
        lengths[s] = static_cast<i64>(last.size());
    }
    nb::tuple result() {
        return nb::make_tuple(as_array(std::move(words)), as_array(std::move(lengths)), as_array(number.joined()));
    }
};

nb::tuple number_pairs(In<u8> source, In<i64> source_starts, In<i64> source_ends, In<u8> target, In<i64> target_starts,
                       In<i64> target_ends, i64 most) {
    Side s(Spans(source, source_starts, source_ends)), t(Spans(target, target_starts, target_ends));
    if (s.sentences.count != t.sentences.count) throw std::invalid_argument("both sides need equally many spans");
    std::vector<i64> bad;
    {
        nb::gil_scoped_release release;
        for (i64 k = 0; k < s.sentences.count; ++k) {
            if (!s.read(k, most) || !t.read(k, most)) {
                bad.push_back(k);
                continue;
            }
            s.keep(k);
            t.keep(k);
        }
    }
    return nb::make_tuple(as_array(std::move(bad)), s.result(), t.result());
}

// Calls visit(number, part) for the parts into which a separator cuts a text, and gives their number.
template <class Visit>
i64 each_part(Span text, Span separator, Visit &&visit) {
    i64 number = 0;
    for (const u8 *begin = text.begin;; ++number) {
        const u8 *end = std::search(begin, text.end, separator.begin, separator.end);
        visit(number, Span{begin, end});
        if (end == text.end) return number + 1;
        begin = end + separator.size();
    }
}

// Two of the parts of each span; -1 where there is no such part, or not exactly `parts` of them.
nb::tuple part_spans(In<u8> text, In<i64> starts, In<i64> ends, In<u8> separator, i64 first, i64 second, i64 parts) {
    const Spans lines(text, starts, ends);
    const Span between{separator.data(), separator.data() + separator.shape(0)};
    if (between.size() == 0) throw std::invalid_argument("an empty separator");
    std::vector<i64> found[4];
    for (auto &column : found) column.assign(lines.count, -1);
    {
        nb::gil_scoped_release release;
        for (i64 k = 0; k < lines.count; ++k) {
            if (!lines.has(k)) continue;
            const i64 n = each_part(lines[k], between, [&](i64 number, Span part) {
                for (const int side : {0, 1})
                    if (number == (side == 0 ? first : second)) {
                        found[2 * side][k] = part.begin - lines.text;
                        found[2 * side + 1][k] = part.end - lines.text;
                    }
            });
            if (parts > 0 && n != parts)
                for (auto &column : found) column[k] = -1;
        }
    }
    return nb::make_tuple(as_array(std::move(found[0])), as_array(std::move(found[1])), as_array(std::move(found[2])),
                          as_array(std::move(found[3])));
}

// Lines of links, `i-j i-j`, counted from `first`.
auto link_lines(In<i64> offsets, In<i32> source, In<i32> target, i64 first) {
    const i64 sentences = static_cast<i64>(offsets.shape(0)) - 1, n = static_cast<i64>(source.shape(0));
    if (sentences < 0 || offsets.data()[sentences] != n || static_cast<i64>(target.shape(0)) != n)
        throw std::invalid_argument("offsets, sources and targets do not fit each other");
    std::vector<u8> out;
    {
        nb::gil_scoped_release release;
        out.reserve(8 * n + sentences);
        char digits[24];
        const auto write = [&](i64 value, char after) {
            char *end = std::to_chars(digits, digits + sizeof digits - 1, value).ptr;
            *end++ = after;
            out.insert(out.end(), digits, end);
        };
        for (i64 s = 0; s < sentences; ++s) {
            const i64 end = offsets.data()[s + 1];
            for (i64 k = offsets.data()[s]; k < end; ++k) {
                write(source.data()[k] + first, '-');
                write(target.data()[k] + first, k + 1 < end ? ' ' : '\n');
            }
            if (offsets.data()[s] == end) out.push_back('\n');
        }
    }
    return as_array(std::move(out));
}

}  // namespace

void bind_words(nb::module_ &m) {
    using namespace nb::literals;
    m.def("number_pairs", &number_pairs, "source"_a, "source_starts"_a, "source_ends"_a, "target"_a,
          "target_starts"_a, "target_ends"_a, "most"_a,
          "Rows of bad pairs; and per side the words as numbers, words per sentence (0 in a bad pair), and the words "
          "that the numbers stand for, with line feeds between them.");
    m.def("part_spans", &part_spans, "text"_a, "starts"_a, "ends"_a, "separator"_a, "first"_a, "second"_a, "parts"_a);
    m.def("link_lines", &link_lines, "offsets"_a, "source"_a, "target"_a, "first"_a);
}
