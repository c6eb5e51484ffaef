// Weights of names summed over several tables.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace {

struct Named {
    PyObject *name = nullptr;
    Py_hash_t hash = 0;
    double weight = 0.0;
};

// Names and weights by the hashes that the interpreter keeps with its texts; there is room for all.
class Sums {
  public:
    explicit Sums(std::size_t most) {
        std::size_t size = 16;
        while (size < 2 * most) size *= 2;
        places_.resize(size);
    }

    void add(PyObject *name, double weight) {
        const Py_hash_t hash = PyObject_Hash(name);
        if (hash == -1) throw nb::python_error();
        const std::size_t mask = places_.size() - 1;
        std::size_t place = static_cast<std::size_t>(hash) & mask;
        while (places_[place].name && !same(places_[place], name, hash)) place = (place + 1) & mask;
        if (!places_[place].name) places_[place] = {name, hash, 0.0};
        places_[place].weight += weight;
    }

    // The largest; of equal ones those whose names come first.
    std::vector<Named> largest(std::size_t k) const {
        std::vector<Named> found;
        for (const Named &one : places_)
            if (one.name) found.push_back(one);
        const std::size_t n = std::min(k, found.size());
        std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(n), found.end(),
                          [](const Named &a, const Named &b) {
                              return a.weight != b.weight ? a.weight > b.weight : PyUnicode_Compare(a.name, b.name) < 0;
                          });
        found.resize(n);
        return found;
    }

  private:
    static bool same(const Named &known, PyObject *name, Py_hash_t hash) {
        return known.name == name || (known.hash == hash && PyUnicode_Compare(known.name, name) == 0);
    }

    std::vector<Named> places_;
};

// The names of several tables with the largest sums of weights, the largest first. Weights of a name are added in the
// order of the tables.
std::vector<std::pair<nb::object, double>> strongest_names(nb::list tables, std::size_t k) {
    std::size_t most = 0;
    for (const nb::handle table : tables) {
        if (!PyDict_Check(table.ptr())) throw std::invalid_argument("expected tables of weights by names");
        most += static_cast<std::size_t>(PyDict_Size(table.ptr()));
    }
    Sums sums(most);
    for (const nb::handle table : tables) {
        Py_ssize_t at = 0;
        PyObject *name = nullptr, *weight = nullptr;
        while (PyDict_Next(table.ptr(), &at, &name, &weight)) {
            if (!PyUnicode_Check(name)) throw std::invalid_argument("expected names that are texts");
            sums.add(name, nb::cast<double>(nb::handle(weight)));
        }
    }
    std::vector<std::pair<nb::object, double>> out;
    for (const Named &one : sums.largest(k)) out.emplace_back(nb::borrow(one.name), one.weight);
    return out;
}

}  // namespace

void bind_naming(nb::module_ &m) { m.def("strongest_names", &strongest_names, nb::arg("tables"), nb::arg("k")); }
