"""The paper's tables beside what is measured here."""

from swnn_xp.reproduce.measure import reproduce
from swnn_xp.reproduce.published import PAPER_RESULTS, PaperResult
from swnn_xp.reproduce.report import Line, Reproduction, to_markdown

__all__ = ["PAPER_RESULTS", "Line", "PaperResult", "Reproduction", "reproduce", "to_markdown"]
