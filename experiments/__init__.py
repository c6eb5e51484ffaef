"""Published tables and figures, run again: one module each, ``python -m experiments.NAME``.

Each writes ``report.md`` with pictures and a comparison with what was published, and ``report.json``, into
a folder of its name under ``reports``. Modules with an underscore hold what several of them share.
"""
