"""Self-contained HTML pages: one file each, no network, light and dark, any width."""

from swnn_xp.pages.evaluation import evaluation_page
from swnn_xp.pages.reproduction import reproduction_page
from swnn_xp.pages.summary import summary_page
from swnn_xp.pages.tuning import tuning_page

__all__ = ["evaluation_page", "reproduction_page", "summary_page", "tuning_page"]
