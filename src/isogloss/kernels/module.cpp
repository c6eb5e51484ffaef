// Entry point of the compiled loops: arrays in, arrays out, the GIL released while they run.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_alignment(nb::module_ &m);
void bind_beads(nb::module_ &m);
void bind_bonds(nb::module_ &m);
void bind_copies(nb::module_ &m);
void bind_exchange(nb::module_ &m);
void bind_fertility(nb::module_ &m);
void bind_hmm(nb::module_ &m);
void bind_latest(nb::module_ &m);
void bind_lexicon(nb::module_ &m);
void bind_letters(nb::module_ &m);
void bind_linking(nb::module_ &m);
void bind_mixture(nb::module_ &m);
void bind_nearest(nb::module_ &m);
void bind_pairs(nb::module_ &m);
void bind_postings(nb::module_ &m);
void bind_profiles(nb::module_ &m);
void bind_rounded(nb::module_ &m);
void bind_segments(nb::module_ &m);
void bind_topk(nb::module_ &m);
void bind_terms(nb::module_ &m);
void bind_topics(nb::module_ &m);
void bind_words(nb::module_ &m);

NB_MODULE(_kernels, m) {
    m.doc() = "Compiled loops of isogloss.";
    nb::set_leak_warnings(false);  // objects may outlive the interpreter's end; that is nobody's concern then
    bind_alignment(m);
    bind_beads(m);
    bind_bonds(m);
    bind_copies(m);
    bind_exchange(m);
    bind_fertility(m);
    bind_hmm(m);
    bind_latest(m);
    bind_lexicon(m);
    bind_letters(m);
    bind_linking(m);
    bind_mixture(m);
    bind_nearest(m);
    bind_pairs(m);
    bind_postings(m);
    bind_profiles(m);
    bind_rounded(m);
    bind_segments(m);
    bind_topk(m);
    bind_terms(m);
    bind_topics(m);
    bind_words(m);
}
