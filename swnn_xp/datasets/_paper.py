"""The paper's tables of its six training sets."""

from __future__ import annotations

from typing import NamedTuple


class Summary(NamedTuple):
    """Five numbers and the mean of a distribution, as the paper prints them (rounded)."""

    minimum: int
    first_quartile: int
    median: int
    third_quartile: int
    maximum: int
    mean: float


class PaperSummaries(NamedTuple):
    """The four tables' rows for one training set."""

    label_occurrences: Summary
    labels_per_row: Summary
    features_per_row: Summary
    feature_occurrences: Summary


PAPER_SUMMARIES = {
    "AmazonCat-13K": PaperSummaries(
        Summary(1, 7, 28, 111, 335_211, 449),
        Summary(1, 3, 4, 6, 57, 5),
        Summary(1, 22, 45, 91, 2_113, 71),
        Summary(1, 6, 13, 53, 499_293, 414),
    ),
    "Wiki10-31K": PaperSummaries(
        Summary(1, 2, 2, 4, 11_411, 9),
        Summary(1, 13, 19, 25, 30, 19),
        Summary(8, 282, 520, 925, 3_288, 673),
        Summary(1, 5, 11, 36, 7_103, 94),
    ),
    "Delicious-200K": PaperSummaries(
        Summary(1, 3, 6, 17, 64_548, 74),
        Summary(1, 9, 27, 77, 13_203, 76),
        Summary(1, 35, 115, 340, 82_820, 301),
        Summary(1, 4, 6, 14, 82_028, 76),
    ),
    "WikiLSHTC-325K": PaperSummaries(
        Summary(1, 2, 5, 13, 293_936, 18),
        Summary(1, 1, 2, 4, 198, 3),
        Summary(1, 16, 30, 54, 5_053, 42),
        Summary(1, 1, 1, 3, 274_175, 54),
    ),
    "Amazon-670K": PaperSummaries(
        Summary(1, 2, 3, 4, 1_826, 4),
        Summary(1, 5, 6, 7, 7, 5),
        Summary(1, 23, 48, 96, 2_025, 76),
        Summary(1, 6, 13, 54, 209_059, 273),
    ),
    "Amazon-3M": PaperSummaries(
        Summary(1, 3, 7, 19, 12_014, 22),
        Summary(1, 7, 20, 65, 100, 36),
        Summary(0, 20, 37, 65, 2_443, 49),
        Summary(1, 5, 8, 21, 330_125, 251),
    ),
}
