"""How the documentation is built; `make docs` builds it, offline, and a warning is an error."""

import inspect
import re

import isogloss

project = "isogloss"
author = "The isogloss developers"
copyright = author
version = release = isogloss.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "numpydoc",
]
exclude_patterns = ["_build", "examples", "**/sg_execution_times.rst", "sg_execution_times.rst"]
templates_path = ["_templates"]

autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "isogloss"
html_static_path = []
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "isogloss"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": []}


def skip_what_is_not_ours(app, what, name, thing, skip, options):
    """Leave out members that a class inherits from elsewhere; scikit-learn documents its own."""
    defined_in = getattr(getattr(thing, "fget", thing), "__module__", None) or "isogloss"
    return True if not defined_in.startswith("isogloss") else None


def add_references(app, what, name, thing, options, lines):
    """Give a docstring the references that it cites and that its module lists."""
    text = "\n".join(lines)
    missing = set(re.findall(r"\[(\d+)\]_", text)) - set(re.findall(r"^\.\. \[(\d+)\]", text, re.MULTILINE))
    module = inspect.getmodule(thing)
    listed = re.findall(r"^(\.\. \[(\d+)\] .*(?:\n   .*)*)", inspect.getdoc(module) or "", re.MULTILINE)
    wanted = [entry for entry, number in listed if number in missing]
    if what != "module" and wanted:
        heading = [] if "References" in lines else ["References", "----------"]
        lines += ["", *heading, *"\n".join(wanted).splitlines(), ""]


def keep_as_written(app, what, name, thing, options, lines):
    """Escape what reST reads as markup: ``D. Arthur`` as item D of a list, ``shape (n_iter_,)`` as a link."""
    for number, line in enumerate(lines):
        line = re.sub(r"^(\.\. \[\d+\] [A-Z])\. ", r"\1\\. ", line)
        declared, colon, kind = line.partition(" : ")
        if colon and not line.startswith(" "):
            line = declared + colon + re.sub(r"(?<![`\w])([A-Za-z]\w*)_(?![`\w])", r"\1\\_", kind)
        lines[number] = line


def setup(app):
    app.connect("autodoc-skip-member", skip_what_is_not_ours)
    app.connect("autodoc-process-docstring", add_references, priority=100)  # before numpydoc
    app.connect("autodoc-process-docstring", keep_as_written, priority=101)
