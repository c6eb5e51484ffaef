// Words found by their letters, what spellings of a name have in common, fingerprints of texts, and how well a text fits
// each language.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "simd.hpp"

namespace nb = nanobind;

namespace {

using namespace isogloss;

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Appends the stretches of letters of a text; what lies beyond the table is no letter.
template <class Letter>
void cut_words(const Letter *letters, Py_ssize_t n, In<u8> is_letter, nb::handle text, nb::list &out) {
    const u8 *table = is_letter.data();
    const std::size_t size = is_letter.shape(0);
    const auto inside = [&](Py_ssize_t k) {
        const auto code = static_cast<std::size_t>(letters[k]);
        return code < size && table[code];
    };
    for (Py_ssize_t k = 0; k < n;) {
        while (k < n && !inside(k)) ++k;
        const Py_ssize_t start = k;
        while (k < n && inside(k)) ++k;
        if (k > start) out.append(nb::steal(PyUnicode_Substring(text.ptr(), start, k)));
    }
}

template <class Letter>
u8 kinds_among(const Letter *letters, Py_ssize_t n, In<u8> kinds) {
    u8 found = 0;
    for (Py_ssize_t k = 0; k < n; ++k)
        if (const auto code = static_cast<std::size_t>(letters[k]); code < kinds.shape(0)) found |= kinds.data()[code];
    return found;
}

// Calls visit(letters, how many) with the letters of a text as it has them.
template <class Visit>
auto with_letters(nb::str text, Visit &&visit) {
    PyObject *p = text.ptr();
    const Py_ssize_t n = PyUnicode_GET_LENGTH(p);
    switch (PyUnicode_KIND(p)) {
    case PyUnicode_1BYTE_KIND: return visit(PyUnicode_1BYTE_DATA(p), n);
    case PyUnicode_2BYTE_KIND: return visit(PyUnicode_2BYTE_DATA(p), n);
    default: return visit(PyUnicode_4BYTE_DATA(p), n);
    }
}

// The words of a text; strings are made, so the interpreter's lock is kept.
nb::list find_words(nb::str text, In<u8> is_letter) {
    nb::list out;
    with_letters(text, [&](const auto *letters, Py_ssize_t n) { cut_words(letters, n, is_letter, text, out); });
    return out;
}

// The bits of the kinds of all letters of a text.
int letter_kinds(nb::str text, In<u8> kinds) {
    return with_letters(text, [&](const auto *letters, Py_ssize_t n) { return kinds_among(letters, n, kinds); });
}

// Of the letters of words: those that begin one, those that none begins behind, those that go on with it.
constexpr u8 kBegins = 1, kBlocks = 2, kGoesOn = 4;

template <class Letter>
void spot(const Letter *letters, Py_ssize_t n, In<u8> kinds, nb::handle dull, nb::handle text, nb::list &out) {
    const u8 *table = kinds.data();
    const std::size_t size = kinds.shape(0);
    const auto kind = [&](Py_ssize_t k) {
        const auto code = static_cast<std::size_t>(letters[k]);
        return code < size ? table[code] : u8{0};
    };
    for (Py_ssize_t k = 0; k < n; ++k) {
        if (!(kind(k) & kBegins) || (k > 0 && kind(k - 1) & kBlocks)) continue;
        const Py_ssize_t start = k++;
        while (k < n && kind(k) & kGoesOn) ++k;
        const nb::object word = nb::steal(PyUnicode_Substring(text.ptr(), start, k));
        const int known = PySet_Contains(dull.ptr(), word.ptr());
        if (known < 0) throw nb::python_error();
        if (!known) out.append(nb::make_tuple(start, k, word));
        --k;
    }
}

// Where the words of a text begin and end that are not in a set, and the words.
nb::list spot_words(nb::str text, In<u8> kinds, nb::set dull) {
    nb::list out;
    with_letters(text, [&](const auto *letters, Py_ssize_t n) { spot(letters, n, kinds, dull, text, out); });
    return out;
}

// How often words have each key, in the order in which keys come first.
struct KeyCounts {
    nb::dict keys;
    std::vector<std::pair<nb::object, i64>> counts;
    std::unordered_map<PyObject *, std::size_t> places;

    // Keys are found by what they are, not by what they say: equal ones must be one object.
    void add(nb::list words, i64 often) {
        for (const nb::handle word : words) {
            PyObject *known = PyDict_GetItemWithError(keys.ptr(), word.ptr());
            if (!known && PyErr_Occurred()) throw nb::python_error();
            const nb::object key = known ? nb::borrow(known) : nb::steal(PyObject_GetItem(keys.ptr(), word.ptr()));
            if (!key.is_valid()) throw nb::python_error();
            if (PyUnicode_GET_LENGTH(key.ptr()) == 0) continue;
            const auto [place, is_new] = places.emplace(key.ptr(), counts.size());
            if (is_new) counts.emplace_back(key, 0);
            counts[place->second].second += often;
        }
    }
};

// The most frequent keys of words and how often each occurs, those of the title more; none are empty. Of equally frequent
// ones the first come first.
nb::list strongest_keys(nb::list title, nb::list body, nb::dict keys, i64 of_title, std::size_t most) {
    KeyCounts found{keys, {}, {}};
    found.add(title, of_title);
    found.add(body, 1);
    std::stable_sort(found.counts.begin(), found.counts.end(),
                     [](const auto &one, const auto &other) { return one.second > other.second; });
    nb::list out;
    for (std::size_t k = 0; k < std::min(most, found.counts.size()); ++k)
        out.append(nb::make_tuple(found.counts[k].first, found.counts[k].second));
    return out;
}

// What a part of a text between two blanks is like; of marks and ends the table has the first two bits.
enum Trait : u8 { kCapital = 1, kDigit = 2, kAtStart = 4, kAtEnd = 8, kLast = 16, kSmall = 32 };
constexpr u8 kMark = 1, kEnd = 2;

// Whether letters have capitals among them, all letters that str.lower changes, and whether some are small.
struct Case {
    bool capital = false, small = false;

    template <class Letter>
    Case(const Letter *letters, Py_ssize_t begin, Py_ssize_t end) {
        for (Py_ssize_t k = begin; k < end && !capital; ++k) {
            const auto letter = static_cast<Py_UCS4>(letters[k]);
            capital = Py_UNICODE_ISUPPER(letter) || Py_UNICODE_ISTITLE(letter);
            small = small || Py_UNICODE_ISLOWER(letter);
        }
    }
};

struct Parts {
    nb::list parts, bare, lower;
    nb::set small;
    std::vector<u8> traits;

    template <class Letter>
    void cut(const Letter *letters, Py_ssize_t n, In<u8> kinds, nb::handle text) {
        const auto has = [&](Py_ssize_t k, u8 bit) {
            const auto code = static_cast<std::size_t>(letters[k]);
            return code < kinds.shape(0) && (kinds.data()[code] & bit);
        };
        for (Py_ssize_t k = 0; k < n;) {
            while (k < n && Py_UNICODE_ISSPACE(static_cast<Py_UCS4>(letters[k]))) ++k;
            const Py_ssize_t start = k;
            while (k < n && !Py_UNICODE_ISSPACE(static_cast<Py_UCS4>(letters[k]))) ++k;
            if (k == start) break;
            Py_ssize_t first = start, last = k;
            while (first < last && has(first, kMark)) ++first;
            while (last > first && has(last - 1, kMark)) --last;
            const nb::object word = nb::steal(PyUnicode_Substring(text.ptr(), first, last));
            bare.append(word);
            parts.append(first == start && last == k ? word : nb::steal(PyUnicode_Substring(text.ptr(), start, k)));
            const Case has_case(letters, first, last);
            lower.append(has_case.capital ? word.attr("lower")() : word);
            const bool empty = first == last, is_word = has_case.small && !has_case.capital;
            const Py_UCS4 letter = empty ? 0 : static_cast<Py_UCS4>(letters[first]);
            if (is_word) small.add(word);
            traits.push_back((!empty && Py_UNICODE_ISUPPER(letter) ? kCapital : 0) |
                             (!empty && Py_UNICODE_ISDECIMAL(letter) ? kDigit : 0) |
                             (empty || first == start ? kAtStart : 0) | (!empty && last == k ? kAtEnd : 0) |
                             (empty || has(k - 1, kEnd) ? kLast : 0) | (is_word ? kSmall : 0));
        }
    }
};

// What stands between blanks, the same without the marks around it, that in lower case, the words in small letters, and
// the traits of each.
nb::tuple cut_parts(nb::str text, In<u8> kinds) {
    Parts found;
    with_letters(text, [&](const auto *letters, Py_ssize_t n) { found.cut(letters, n, kinds, text); });
    const nb::bytes traits(found.traits.data(), found.traits.size());
    return nb::make_tuple(found.parts, found.bare, found.lower, found.small, traits);
}

// Puts `sound` where one of the spellings stands, from left to right, the first spelling that fits.
void respell(std::string &word, std::initializer_list<std::string_view> spellings, std::string_view sound) {
    std::string out;
    for (std::size_t k = 0; k < word.size();) {
        const auto fits = [&](std::string_view one) { return word.compare(k, one.size(), one) == 0; };
        const auto *found = std::find_if(spellings.begin(), spellings.end(), fits);
        if (found == spellings.end()) {
            out += word[k++];
        } else {
            out += sound;
            k += found->size();
        }
    }
    word = std::move(out);
}

bool is_vowel(char c) { return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' || c == 'y'; }

// What spellings of a name in Latin letters have in common, of some letters at most; without vowels at its end.
std::string sound_key(std::string word, std::size_t letters) {
    word.erase(std::remove_if(word.begin(), word.end(), [](char c) { return c < 'a' || c > 'z'; }), word.end());
    respell(word, {"shch", "sch", "sh", "tz", "ts", "z"}, "s");
    respell(word, {"j"}, "g");
    respell(word, {"tch", "ch"}, "k");
    respell(word, {"ph"}, "f");
    respell(word, {"qu"}, "kv");
    respell(word, {"x"}, "ks");
    for (std::size_t k = 0; k < word.size(); ++k)
        if (word[k] == 'c') word[k] = k + 1 < word.size() && std::strchr("eiy", word[k + 1]) ? 's' : 'k';
    std::string key;
    for (char c : word) {
        if (c == 'h') continue;
        if (c == 'q') c = 'k';
        if (c == 'w') c = 'v';
        key += c;
    }
    key.erase(std::unique(key.begin(), key.end()), key.end());
    std::string out;
    for (const char c : key)
        if (!is_vowel(c)) {
            out += c;
        } else if (out.empty() || out.back() != 'a') {
            out += 'a';
        }
    out.resize(std::min(out.size(), letters));
    while (!out.empty() && out.back() == 'a') out.pop_back();
    return out;
}

// A number for each word: the sum over its letters, each mixed with the one before it in the word. Letters of kind 1 are
// in words, those of kind 2 are words by themselves.
std::vector<u64> word_codes(In<u16> letters, In<u8> kinds, In<u64> numbers, u64 step) {
    std::vector<u64> codes;
    u8 before = 0;
    u64 last = 0;
    for (std::size_t k = 0; k < letters.shape(0); ++k) {
        const u16 letter = letters.data()[k];
        const u8 kind = kinds.data()[letter];
        const u64 own = numbers.data()[letter];
        if (kind == 2 || (kind == 1 && before != 1)) codes.push_back(0);
        if (kind != 0) {
            const u64 mix = own + (before == 1 ? last * step : 0);
            codes.back() += mix ^ (mix >> 29);
        }
        before = kind;
        last = own;
    }
    return codes;
}

// The least number that each factor gives a sequence of three words, its upper half; nothing for a text without words.
auto min_hashes(In<u16> letters, In<u8> kinds, In<u64> numbers, In<u64> steps, In<u64> factors) {
    if (kinds.shape(0) != 1 << 16 || numbers.shape(0) != 1 << 16) throw std::invalid_argument("not all letters are known");
    if (steps.shape(0) != 3) throw std::invalid_argument("three steps are needed");
    std::vector<u32> out;
    {
        nb::gil_scoped_release release;
        const u64 *step = steps.data();
        std::vector<u64> codes = word_codes(letters, kinds, numbers, step[2]);
        const std::size_t sequences = codes.size() < 3 ? codes.size() : codes.size() - 2;
        for (std::size_t k = 0; k < sequences; ++k) {
            if (codes.size() >= 3) codes[k] = codes[k] * step[0] + codes[k + 1] * step[1] + codes[k + 2];
            codes[k] ^= codes[k] >> 31;
        }
        if (sequences) out.resize(factors.shape(0));
        for (std::size_t f = 0; f < out.size(); ++f) {
            const u64 factor = factors.data()[f];
            u64 least = ~u64{0};
            for (std::size_t k = 0; k < sequences; ++k) least = std::min(least, factor * codes[k]);
            out[f] = static_cast<u32>(least >> 32);
        }
    }
    return as_array(std::move(out));
}

// A number of half precision that is finite.
inline float widened(u16 half) {
    const u32 bits = static_cast<u32>(half & 0x7FFF) << 13, sign = static_cast<u32>(half & 0x8000) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    value *= 0x1p112F;
    u32 signed_bits;
    std::memcpy(&signed_bits, &value, sizeof value);
    signed_bits |= sign;
    std::memcpy(&value, &signed_bits, sizeof value);
    return value;
}

// Has a row fetched from memory that is needed a little later.
inline void fetch(const u16 *row, std::size_t n) {
    for (std::size_t k = 0; k < n; k += 64 / sizeof(u16)) ISOGLOSS_PREFETCH(row + k, 0);
}

// The features that an automaton finds in bytes, each as often as it is found. Of a state: where its moves begin, and its
// feature, -1 for none.
std::vector<i32> features(std::string_view text, In<u32> moves, In2<i32> states, In2<u16> weights) {
    std::vector<i32> found;
    std::size_t state = 0;
    for (const char byte : text) {
        if (state >= states.shape(0)) throw std::invalid_argument("a state that is not there");
        const std::size_t place = static_cast<std::size_t>(states.data()[2 * state]) + static_cast<u8>(byte);
        if (place >= moves.shape(0)) throw std::invalid_argument("a row beyond the end of the moves");
        state = moves.data()[place];
        if (state >= states.shape(0)) throw std::invalid_argument("a move to no state");
        const i32 feature = states.data()[2 * state + 1];
        if (feature < 0) continue;
        if (static_cast<std::size_t>(feature) >= weights.shape(0)) throw std::invalid_argument("a feature without weights");
        fetch(weights.data() + static_cast<std::size_t>(feature) * weights.shape(1), weights.shape(1));
        found.push_back(feature);
    }
    return found;
}

// Adds to the scores of languages the weights of each feature of a text, more the oftener it occurs; how many there are.
std::size_t score_languages(nb::bytes text, In<u32> moves, In2<i32> states, In2<u16> weights, Out<float> scores) {
    const std::size_t languages = weights.shape(1);
    if (scores.shape(0) != languages) throw std::invalid_argument("scores and weights are of other languages");
    if (states.shape(1) != 2) throw std::invalid_argument("a state has two numbers");
    std::vector<i32> found = features({text.c_str(), text.size()}, moves, states, weights);
    std::sort(found.begin(), found.end());
    std::size_t n = 0;
    for (std::size_t i = 0; i < found.size(); ++n) {
        std::size_t next = i;
        while (next < found.size() && found[next] == found[i]) ++next;
        const float often = std::log1p(static_cast<float>(next - i));
        const u16 *row = weights.data() + static_cast<std::size_t>(found[i]) * languages;
        for (std::size_t k = 0; k < languages; ++k) scores.data()[k] += often * widened(row[k]);
        i = next;
    }
    return n;
}

}  // namespace

void bind_letters(nb::module_ &m) {
    using namespace nb::literals;
    m.def("find_words", &find_words, "text"_a, "is_letter"_a);
    m.def("cut_parts", &cut_parts, "text"_a, "kinds"_a);
    m.def("sound_key", &sound_key, "word"_a, "letters"_a);
    m.def("letter_kinds", &letter_kinds, "text"_a, "kinds"_a);
    m.def("spot_words", &spot_words, "text"_a, "kinds"_a, "dull"_a);
    m.def("strongest_keys", &strongest_keys, "title"_a, "body"_a, "keys"_a, "of_title"_a, "most"_a);
    m.def("score_languages", &score_languages, "text"_a, "moves"_a, "states"_a, "weights"_a, "scores"_a.noconvert());
    m.def("min_hashes", &min_hashes, "letters"_a, "kinds"_a, "numbers"_a, "steps"_a, "factors"_a);
}
