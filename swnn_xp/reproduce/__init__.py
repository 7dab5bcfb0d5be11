"""The paper's tables beside what is measured here."""

from swnn_xp.reproduce.measure import (
    PAPER_RESULTS,
    Line,
    PaperResult,
    Reproduction,
    reproduce,
    to_markdown,
)

__all__ = ["PAPER_RESULTS", "Line", "PaperResult", "Reproduction", "reproduce", "to_markdown"]
