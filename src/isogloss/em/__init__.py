"""Expectation maximisation: one loop for all models.

A model implements the steps of :class:`EMModel` and passes them to :func:`run_em`. The loop handles stopping,
restarts (:func:`best_of`), acceleration (SQUAREM), callbacks and the trace, and checks at every step that the
bound does not fall. :class:`FullExpectation`, :class:`SparseExpectation` and :class:`IncrementalExpectation`
are its variants of the E-step.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
