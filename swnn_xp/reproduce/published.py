"""What the paper reports of its six sets (Aoshima et al. 2018, arXiv 1802.03938)."""

from __future__ import annotations

from typing import NamedTuple


class PaperResult(NamedTuple):
    """Parameters and results of one set; precisions in percent, times in milliseconds per query.

    Times are of one thread of an i7-7700K at 4.2 GHz: the paper's own, and those that the README
    of its program gives.
    """

    n_neighbors: int
    alpha: float
    beta: float
    precision: tuple[float, float, float]
    max_precision: tuple[float, float, float]
    milliseconds: float
    readme_milliseconds: float


PAPER_RESULTS = {
    "AmazonCat-13K": PaperResult(
        25, 1, 1, (91.07, 76.99, 62.59), (100.0, 91.74, 77.24), 24.1, 15.1
    ),
    "Wiki10-31K": PaperResult(20, 1, 1, (84.89, 74.65, 64.88), (100.0, 99.99, 99.93), 1.47, 1.14),
    "Delicious-200K": PaperResult(
        75, 1, 0, (48.05, 42.00, 39.02), (100.0, 98.10, 96.08), 6.02, 4.88
    ),
    "WikiLSHTC-325K": PaperResult(
        25, 1, 1, (58.29, 37.27, 27.53), (100.0, 76.18, 57.40), 20.4, 15.1
    ),
    "Amazon-670K": PaperResult(75, 2, 1, (41.43, 36.79, 33.70), (100.0, 93.40, 87.65), 5.74, 4.19),
    "Amazon-3M": PaperResult(75, 2, 1, (45.69, 42.53, 40.39), (100.0, 95.15, 91.89), 19.7, 15.5),
}

BUILD_LIMIT = "within 60 s"
MODEL_LIMIT = "at most 1.5 GB"
MEMORY_LIMIT = "within 4 GB"
