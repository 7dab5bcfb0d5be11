"""Self-contained HTML pages: one file each, no network, light and dark, any width."""

try:
    import matplotlib as _matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError("pages and plots need matplotlib: pip install 'swnn-xp[plot]'") from error

from swnn_xp.pages.charts import heat_map_png
from swnn_xp.pages.reports import evaluation_page, reproduction_page, tuning_page
from swnn_xp.pages.summary import summary_page

__all__ = [
    "evaluation_page",
    "heat_map_png",
    "reproduction_page",
    "summary_page",
    "tuning_page",
]
