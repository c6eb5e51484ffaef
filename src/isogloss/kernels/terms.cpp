// Numbers of the terms of a text, by hashing.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "arrays.hpp"

namespace {

using namespace isogloss;
using u8 = std::uint8_t;
using u64 = std::uint64_t;

constexpr u64 kOffset = 0xcbf29ce484222325ULL, kPrime = 0x100000001b3ULL;

// FNV-1a, its high bits folded into the low ones that remain.
i32 hash_term(std::string_view bytes, u64 seed, u64 mask) {
    u64 h = kOffset ^ (seed * kPrime);
    for (const char byte : bytes) h = (h ^ static_cast<u8>(byte)) * kPrime;
    return static_cast<i32>((h ^ (h >> 32)) & mask);
}

bool starts_letter(char byte) { return (static_cast<u8>(byte) & 0xC0) != 0x80; }

// The first letters of a word.
std::string_view cut(std::string_view word, std::size_t letters) {
    std::size_t seen = 0;
    for (std::size_t i = 0; i < word.size(); ++i)
        if (starts_letter(word[i]) && seen++ == letters) return word.substr(0, i);
    return word;
}

// All sequences of letters of a word that has a blank at either end; the whole of a short one.
void hash_grams(std::string_view padded, std::size_t letters, u64 seed, u64 mask, std::vector<i32> &found) {
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < padded.size(); ++i)
        if (starts_letter(padded[i])) starts.push_back(i);
    const std::size_t n = starts.size();
    starts.push_back(padded.size());
    for (std::size_t i = 0; i == 0 || i + letters <= n; ++i) {
        const std::size_t end = starts[std::min(n, i + letters)];
        found.push_back(hash_term(padded.substr(starts[i], end - starts[i]), seed, mask));
    }
}

// The numbers of the terms of words with one blank before, between and after them, and how often each occurs.
std::size_t count_terms(nb::bytes text, u64 seed, std::size_t stem, std::size_t gram, i32 size, Out<i32> ids,
                        Out<double> counts) {
    if (size < 1 || (size & (size - 1))) throw std::invalid_argument("size is not a power of two");
    const std::string_view words(text.c_str(), text.size());
    const u64 mask = static_cast<u64>(size) - 1;
    std::vector<i32> found;
    for (std::size_t start = 0; start + 1 < words.size();) {
        const std::size_t end = std::min(words.find(' ', start + 1), words.size());
        if (end > start + 1) found.push_back(hash_term(cut(words.substr(start + 1, end - start - 1), stem), seed, mask));
        if (end > start + 1 && gram)
            hash_grams(words.substr(start, end + 1 - start), gram, seed + 1, mask, found);
        start = end;
    }
    if (found.size() > ids.shape(0) || ids.shape(0) != counts.shape(0))
        throw std::invalid_argument("no room for all terms");
    std::sort(found.begin(), found.end());
    std::size_t n = 0;
    for (std::size_t i = 0; i < found.size(); ++n) {
        std::size_t next = i;
        while (next < found.size() && found[next] == found[i]) ++next;
        ids.data()[n] = found[i];
        counts.data()[n] = static_cast<double>(next - i);
        i = next;
    }
    return n;
}

}  // namespace

void bind_terms(nb::module_ &m) {
    m.def("count_terms", &count_terms, nb::arg("text"), nb::arg("seed"), nb::arg("stem"), nb::arg("gram"),
          nb::arg("size"), nb::arg("ids").noconvert(), nb::arg("counts").noconvert());
}
