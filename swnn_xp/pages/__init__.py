"""Self-contained HTML pages: one file each, no network, light and dark, for any width."""

from swnn_xp.pages.summary import summary_page

__all__ = ["summary_page"]
