"""Shapes of data sets that no paper describes, for twins: sizes and degree distributions."""

from __future__ import annotations

from ._paper import PaperSummaries, Summary
from ._registry import Published

SHAPES = {
    # Titles of a few words, some of which are everywhere: most postings are in a few lists.
    "short-rows": (
        Published("short-rows", 20_000, 2_000, 47_000, 5_000, None, 3.0),
        PaperSummaries(
            Summary(1, 8, 20, 60, 4_000, 70.5),
            Summary(1, 2, 3, 4, 10, 3),
            Summary(1, 6, 8, 10, 30, 8),
            Summary(1, 1, 2, 4, 12_000, 18.8),
        ),
    ),
    # Abstracts.
    "medium-rows": (
        Published("medium-rows", 80_000, 4_000, 57_717, 5_000, None, 4.0),
        PaperSummaries(
            Summary(1, 5, 14, 45, 6_000, 57.7),
            Summary(1, 2, 4, 5, 15, 4),
            Summary(3, 35, 55, 82, 400, 63),
            Summary(1, 2, 5, 20, 25_000, 45.5),
        ),
    ),
}
"""Sizes and summaries by name."""
