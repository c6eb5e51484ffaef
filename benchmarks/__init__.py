"""isogloss beside its peers: both in one run, by turns, as ratios.

One module per benchmark, with a docstring whose first line says what is compared and a function
``main() -> Result``; see :mod:`benchmarks.harness`.
"""
