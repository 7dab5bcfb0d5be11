"""Sphinx configuration. Neither the build nor the pages fetch anything from the network."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE / "plots")]

from swnn_xp import __version__  # noqa: E402

project = "swnn_xp"
author = "the swnn_xp contributors"
copyright = author
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "from_code",
    "local_mathjax",
]
exclude_patterns = ["_build", "generated/*.inc", "plots", "_ext", "_templates"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # the docstrings describe types in prose
numpydoc_show_class_members = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "swnn_xp"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["fit.js"]
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {
    name: [] for name in ("index", "start", "limits", "performance", "promises", "glossary")
}
html_theme_options = {
    "logo": {"text": "swnn_xp"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 5,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
