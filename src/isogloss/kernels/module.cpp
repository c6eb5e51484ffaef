// Entry point of the compiled loops: arrays in, arrays out, the GIL released while they run.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_mixture(nb::module_ &m);

NB_MODULE(_kernels, m) {
    m.doc() = "Compiled loops of isogloss.";
    bind_mixture(m);
}
