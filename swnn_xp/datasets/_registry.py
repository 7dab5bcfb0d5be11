"""The table of known data sets: published figures and the names of their files.

Figures are those of the Extreme Classification Repository (its bag-of-words versions, which the
paper uses too) and, for EURLEX57K, of Chalkidis et al. 2019; that set is a text corpus, so its
number of features depends on who prepared it. "debtags" is the set shipped with this package.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Published:
    """The published figures of a data set.

    `labels_per_point` and `points_per_label` are means over the training rows for some sets and
    over all rows for others: `means_over` says which. `files` holds (train, test) pairs or
    (all rows, train split, test split) triples, as they are called in the set's folder.
    """

    name: str
    n_features: int | None
    n_labels: int
    n_train: int
    n_test: int
    points_per_label: float | None
    labels_per_point: float
    means_over: Literal["train", "all"] = "train"
    aliases: tuple[str, ...] = ()
    files: tuple[tuple[str, ...], ...] = ()
    in_paper: bool = False


PLAIN_FILES: tuple[tuple[str, ...], ...] = (("train.txt", "test.txt"),)

_TABLE = (
    Published(
        "AmazonCat-13K", 203_882, 13_330, 1_186_239, 306_782, 448.57, 5.04,
        aliases=("AmazonCat",), in_paper=True,
        files=(
            ("amazonCat_train.txt", "amazonCat_test.txt"),
            ("AmazonCat-13K_train.txt", "AmazonCat-13K_test.txt"),
        ),
    ),
    Published(
        "Wiki10-31K", 101_938, 30_938, 14_146, 6_616, 8.52, 18.64,
        aliases=("Wiki10",), in_paper=True,
        files=(("wiki10_train.txt", "wiki10_test.txt"),),
    ),
    Published(
        "Delicious-200K", 782_585, 205_443, 196_606, 100_095, 72.29, 75.54,
        aliases=("DeliciousLarge", "DeliciousLarge-200K"), in_paper=True,
        files=(("deliciousLarge_train.txt", "deliciousLarge_test.txt"),),
    ),
    Published(
        "WikiLSHTC-325K", 1_617_899, 325_056, 1_778_351, 587_084, 17.46, 3.19,
        aliases=("WikiLSHTC",), in_paper=True,
        files=(("wikiLSHTC_train.txt", "wikiLSHTC_test.txt"),),
    ),
    Published(
        "Amazon-670K", 135_909, 670_091, 490_449, 153_025, 3.99, 5.45,
        aliases=("Amazon", "Amazon670K"), in_paper=True,
        files=(
            ("amazon_train.txt", "amazon_test.txt"),
            ("Amazon670K_train.txt", "Amazon670K_test.txt"),
        ),
    ),
    Published(
        "Amazon-3M", 337_067, 2_812_281, 1_717_899, 742_507, 31.64, 36.17, "all",
        in_paper=True,
        files=(("amazon-3M_train.txt", "amazon-3M_test.txt"),),
    ),
    Published(
        "EURLex-4K", 5_000, 3_993, 15_539, 3_809, 25.73, 5.31, "all",
        aliases=("Eurlex",),
        files=(("eurlex_train.txt", "eurlex_test.txt"),),
    ),
    Published(
        "EURLEX57K", None, 4_271, 45_000, 6_000, None, 5.07, "all",
        aliases=("EURLex-4.3K",),
    ),
    Published(
        "Bibtex", 1_836, 159, 4_880, 2_515, 111.71, 2.40, "all",
        files=(("Bibtex_data.txt", "bibtex_trSplit.txt", "bibtex_tstSplit.txt"),),
    ),
    Published(
        "Delicious", 500, 983, 12_920, 3_185, 311.61, 19.03, "all",
        files=(("Delicious_data.txt", "delicious_trSplit.txt", "delicious_tstSplit.txt"),),
    ),
    Published(
        "Mediamill", 120, 101, 30_993, 12_914, 1902.15, 4.38, "all",
        files=(("Mediamill_data.txt", "mediamill_trSplit.txt", "mediamill_tstSplit.txt"),),
    ),
    Published(
        "RCV1-x", 47_236, 2_456, 623_847, 155_962, 1218.56, 4.79,
        aliases=("RCV1-2K", "rcv1x"),
        files=(("rcv1x_train.txt", "rcv1x_test.txt"),),
    ),
    Published("debtags", 17_756, 597, 23_859, 5_965, 146.71, 3.67),
)  # fmt: skip


def key(name: str) -> str:
    """Normalise a name for comparison: letters and digits, lower case."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


REGISTRY = {published.name: published for published in _TABLE}
_BY_KEY = {key(name): p for p in _TABLE for name in (p.name, *p.aliases)}


def find_published(name: str) -> Published | None:
    """Look up a name or alias, ignoring case and punctuation."""
    return _BY_KEY.get(key(name))
