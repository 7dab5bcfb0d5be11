"""Data sets by name: the table of those that are known, where their files are, and reading them.

Published figures are those of the Extreme Classification Repository (its bag-of-words versions,
which the paper uses too) and, for EURLEX57K, of Chalkidis et al. 2019; that set is a text corpus,
so its number of features depends on who prepared it.

"debtags" is shipped with the package (written by scripts/make_debtags.py) as one xz-compressed
.npz: column ids are stored as differences within a row, which compress better. As repository text
it is no smaller and takes seven times as long to read (scripts/check_debtags.py).
"""

from __future__ import annotations

import io
import lzma
import os
import re
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from swnn_xp.text.vectorizer import Analysis, TextVectorizer, Weighting


@dataclass(frozen=True, repr=False)
class Dataset:
    """A multi-label data set, split into training and test rows.

    Attributes
    ----------
    name : str
        The name it was loaded by.
    X_train, X_test : scipy.sparse.csr_array
        Features, float32, one row per example.
    y_train, y_test : scipy.sparse.csr_array
        Labels, 0/1, one row per example.
    feature_names, label_names : list of str
        One name per column; empty if the set has no names.
    row_names_train, row_names_test : list of str
        One name per row; empty if the set has no names.
    vectorizer : TextVectorizer or None
        Turns texts into such rows, for ``fit(..., vectorizer=)``; None if it is not known how the
        rows were made.
    differences : tuple of str
        Differences from the published figures, one sentence each. `load` reports a mismatch here
        and raises no warning.
    """

    name: str
    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any
    feature_names: list[str]
    label_names: list[str]
    row_names_train: list[str]
    row_names_test: list[str]
    vectorizer: TextVectorizer | None = None
    differences: tuple[str, ...] = ()

    def __repr__(self) -> str:
        n_test, n_labels = self.y_test.shape
        n_train, n_features = self.X_train.shape
        text = f"{n_train} + {n_test} rows, {n_features} features, {n_labels} labels"
        noted = f", {len(self.differences)} differences" if self.differences else ""
        return f"<Dataset {self.name}: {text}{noted}>"


ROOT_VARIABLE = "SWNN_DATA"
_SUFFIXES = ("", ".gz", ".xz")
_FEATURE_MAPS = ("feature_map.txt", "Xf.txt")
_LABEL_MAPS = ("label_map.txt", "Y.txt")


class Files(NamedTuple):
    """Files of one data set: a (train, test) pair or (all rows, train split, test split)."""

    data: tuple[Path, ...]
    feature_map: Path | None
    label_map: Path | None


def data_root(root: str | os.PathLike[str] | None) -> Path | None:
    """Return the folder to look in: `root`, or what ``$SWNN_DATA`` says, or None."""
    where = root if root is not None else os.environ.get(ROOT_VARIABLE) or None
    return None if where is None else Path(where)


def find_files(name: str, root: Path) -> Files | None:
    """Find the files of a data set in a folder of data sets, or in its own folder.

    A set's folder is named like the set or an alias, whatever the case and punctuation, with or
    without ``.bow``. Files directly in `root` count if they bear the set's own names.
    """
    published = find_published(name)
    own = published.files if published else ()
    found = _match(root, own)
    for folder in _folders_of(name, published, root):
        found = found or _match(folder, own + PLAIN_FILES)
    return found


def _folders_of(name: str, published: Published | None, root: Path) -> list[Path]:
    names = (published.name, *published.aliases) if published else (name,)
    wanted = {key(n) for n in names} | {key(n + ".bow") for n in names}
    inside = sorted(root.iterdir()) if root.is_dir() else []
    return [path for path in [root, *inside] if path.is_dir() and key(path.name) in wanted]


def _match(folder: Path, layouts: tuple[tuple[str, ...], ...]) -> Files | None:
    for layout in layouts:
        paths = [_existing(folder, (name,)) for name in layout]
        if all(paths):
            data = tuple(path for path in paths if path)
            maps = (_existing(folder, _FEATURE_MAPS), _existing(folder, _LABEL_MAPS))
            return Files(data, *maps)
    return None


def _existing(folder: Path, names: tuple[str, ...]) -> Path | None:
    paths = (folder / (name + suffix) for name in names for suffix in _SUFFIXES)
    return next((path for path in paths if path.is_file()), None)


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


def load_named(name: str, files: Files, split: int) -> Dataset:
    """Read the files and compare them with what is published of the set."""
    from swnn_xp.io import read_xmc  # here, so that debtags needs no reader

    if len(files.data) == 2:
        (X_train, y_train), (X_test, y_test) = (read_xmc(path) for path in files.data)
    else:
        X, y = read_xmc(files.data[0])
        train, test = (_split_rows(path, split, X.shape[0]) for path in files.data[1:])
        X_train, y_train, X_test, y_test = X[train], y[train], X[test], y[test]
    published = find_published(name)
    feature_names, noted_x = _names(files.feature_map, X_train.shape[1])
    label_names, noted_y = _names(files.label_map, y_train.shape[1])
    noted = differences(published, X_train, y_train, y_test) if published else ()
    return Dataset(
        name=published.name if published else name,
        X_train=X_train,
        y_train=y_train,
        X_test=X_test,
        y_test=y_test,
        feature_names=feature_names,
        label_names=label_names,
        row_names_train=[],
        row_names_test=[],
        differences=noted + noted_x + noted_y,
    )


def _names(path: Path | None, n_columns: int) -> tuple[list[str], tuple[str, ...]]:
    """Names of the columns; none, and a note, if their number is wrong."""
    from swnn_xp.io import read_names

    names = read_names(path) if path else []
    if path is None or len(names) == n_columns:
        return names, ()
    return [], (f"{path.name}: {len(names):,} names for {n_columns:,} columns, left out",)


def _split_rows(path: Path, split: int, n_rows: int) -> Any:
    """Row ids of one split: the file has one column per split and counts rows from 1."""
    columns = np.loadtxt(path, dtype=np.int64, ndmin=2)
    if not 0 <= split < columns.shape[1]:
        raise ValueError(f"{path}: has splits 0 to {columns.shape[1] - 1}, not {split}")
    rows = columns[:, split] - 1
    if rows.size and not 0 <= rows.min() <= rows.max() < n_rows:
        raise ValueError(f"{path}: split {split} names rows outside 1 to {n_rows}")
    return rows


def load(
    name: str,
    *,
    root: str | os.PathLike[str] | None = None,
    weighting: Literal["tfidf", "counts"] | None = None,
    split: int = 0,
) -> Dataset:
    """Load a data set by its name.

    "debtags" is shipped with the package. Other sets are read from files that you have: nothing is
    downloaded. They are looked up in `root`, in a folder named like the set or as the Extreme
    Classification Repository names it, under the repository's file names or as ``train.txt`` and
    ``test.txt``, plain, .gz or .xz, with optional ``feature_map.txt`` and ``label_map.txt``.
    A folder whose name is not in the registry can be loaded as well.

    Parameters
    ----------
    name : str
        Name of the set, in any case and punctuation; see `describe`.
    root : path, optional
        Folder of data sets, or the folder of this one; ``$SWNN_DATA`` if not given.
    weighting : {"tfidf", "counts"}, optional
        "tfidf" turns term counts into (1 + ln count) * idf, with idf from the training rows;
        "counts" leaves values as they are stored. Default: "tfidf" for debtags, else "counts".
    split : int, default 0
        Which train/test split to use, for sets that come as one file with several splits.

    Returns
    -------
    Dataset
        Its `differences` say where the data departs from the published figures.

    Examples
    --------
    >>> from swnn_xp import datasets
    >>> debtags = datasets.load("debtags")
    >>> debtags
    <Dataset debtags: 23859 + 5965 rows, 17756 features, 597 labels>
    """
    if weighting not in (None, "tfidf", "counts"):
        raise ValueError(f'weighting must be "tfidf" or "counts", not {weighting!r}')
    if key(name) == "debtags":
        return load_debtags(weighting or "tfidf")
    folder = data_root(root)
    files = find_files(name, folder) if folder else None
    if files is None:
        raise ValueError(_not_found(name, folder))
    dataset = load_named(name, files, split)
    return _weighted(dataset) if weighting == "tfidf" else dataset


def _not_found(name: str, folder: Path | None) -> str:
    published = find_published(name)
    where = f"in {folder}" if folder else f"as neither root= nor ${ROOT_VARIABLE} says where"
    if published is None:
        known = ", ".join(REGISTRY)
        return f"no data set {name!r}: not a known name ({known}), and no such folder {where}"
    layouts = " or ".join(" + ".join(names) for names in published.files + PLAIN_FILES)
    source = (
        "from its authors (Chalkidis et al. 2019)"
        if published.name == "EURLEX57K"
        else "from the Extreme Classification Repository (bag-of-words features)"
    )
    return (
        f"data set {published.name} not found {where}; get it {source} "
        f"and put {layouts} into a folder {published.name} there"
    )


def _weighted(dataset: Dataset) -> Dataset:
    for X in (dataset.X_train, dataset.X_test):
        if (X.data < 1).any() or (X.data != np.rint(X.data)).any():
            raise ValueError(f"{dataset.name}: its values are not counts, so not for tf-idf")
    idf = idf_weights(dataset.X_train)
    return replace(dataset, X_train=tfidf(dataset.X_train, idf), X_test=tfidf(dataset.X_test, idf))


DEBTAGS_WORD = r"[a-z][a-z0-9+#-]*[a-z0-9+#]"
DEBTAGS_STOP_WORDS = """
about after all also an and any are as at be been before being between both but by can do does
during each for from has have how if in into is it its may more most no not of on only or other
our out over same so some such than that the their them then there these they this those through
to too under up us use used using very via was we were what when where which while who will with
within you your
"""


def load_debtags(weighting: Literal["tfidf", "counts"]) -> Dataset:
    """Read debtags from the package and weight its term counts."""
    packed = resources.files(__package__).joinpath("debtags", "debtags.npz.xz").read_bytes()
    with np.load(io.BytesIO(lzma.decompress(packed)), allow_pickle=False) as arrays:
        n_train = int(arrays["n_train"])
        features, labels, rows = (
            arrays[key].tobytes().decode().split("\n") for key in ("features", "labels", "rows")
        )
        counts = arrays["x_counts"].astype(np.float32)
        X = _unpack(arrays["x_lengths"], arrays["x_steps"], counts, len(features))
        ones = np.ones(len(arrays["y_steps"]), dtype=np.int8)
        y = _unpack(arrays["y_lengths"], arrays["y_steps"], ones, len(labels))
    X_train, X_test = X[:n_train], X[n_train:]
    idf = None
    if weighting == "tfidf":
        idf = idf_weights(X_train)
        X_train, X_test = tfidf(X_train, idf), tfidf(X_test, idf)
    stop_words = tuple(DEBTAGS_STOP_WORDS.split())
    return Dataset(
        name="debtags",
        X_train=X_train,
        y_train=y[:n_train],
        X_test=X_test,
        y_test=y[n_train:],
        feature_names=features,
        label_names=labels,
        row_names_train=rows[:n_train],
        row_names_test=rows[n_train:],
        vectorizer=TextVectorizer(
            features,
            idf,
            Analysis(token_pattern=DEBTAGS_WORD, stop_words=stop_words),
            Weighting(sublinear_tf=idf is not None, norm=None),
        ),
    )


def _unpack(lengths: Any, steps: Any, data: Any, n_columns: int) -> Any:
    """Turn differences back into column ids, starting from 0 in each row."""
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    total = np.concatenate([[0], np.cumsum(steps, dtype=np.int64)])
    indices = total[1:] - np.repeat(total[indptr[:-1]], lengths)
    matrix = csr_array(
        (data, indices.astype(np.int32), indptr.astype(np.int32)), (len(lengths), n_columns)
    )
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


# Means are published with two decimals, and the two means of a set agree to about 0.1%.
_ABSOLUTE, _RELATIVE = 0.006, 0.001


def differences(published: Published, X_train: Any, y_train: Any, y_test: Any) -> tuple[str, ...]:
    """Describe each difference in one sentence."""
    n_rows, n_labels = y_train.shape[0], y_train.shape[1]
    n_pairs = y_train.nnz
    if published.means_over == "all":
        n_rows += y_test.shape[0]
        n_pairs += y_test.nnz
    counts = [
        ("features", published.n_features, X_train.shape[1]),
        ("labels", published.n_labels, n_labels),
        ("training rows", published.n_train, X_train.shape[0]),
        ("test rows", published.n_test, y_test.shape[0]),
    ]
    means = [
        ("points per label", published.points_per_label, n_pairs / max(n_labels, 1)),
        ("labels per point", published.labels_per_point, n_pairs / max(n_rows, 1)),
    ]
    return tuple(
        f"{what}: published {stated:,}, found {round(found, 2):,}"
        for what, stated, found in [
            *((w, t, f) for w, t, f in counts if t is not None and t != f),
            *((w, t, f) for w, t, f in means if t is not None and not _close(t, f)),
        ]
    )


def _close(stated: float, found: float) -> bool:
    return abs(stated - found) <= _ABSOLUTE + _RELATIVE * stated


class Description(NamedTuple):
    """A known data set and where it is."""

    published: Published
    path: Path | None
    """The training file, or the file of all rows; None if not found or shipped."""
    at_hand: bool


def describe(root: str | os.PathLike[str] | None = None) -> list[Description]:
    """List every known data set with its published figures.

    Parameters
    ----------
    root : path, optional
        Folder to look for their files in; ``$SWNN_DATA`` if not given.

    Returns
    -------
    list of Description
        One per set, in the order of the registry.

    Examples
    --------
    >>> from swnn_xp import datasets
    >>> [row.published.n_labels for row in datasets.describe() if row.published.in_paper]
    [13330, 30938, 205443, 325056, 670091, 2812281]
    """
    folder = data_root(root)
    rows = []
    for published in REGISTRY.values():
        files = find_files(published.name, folder) if folder else None
        at_hand = files is not None or published.name == "debtags"
        rows.append(Description(published, files.data[0] if files else None, at_hand))
    return rows


def available(root: str | os.PathLike[str] | None = None) -> list[str]:
    """Names of the known data sets that can be loaded here.

    Parameters
    ----------
    root : path, optional
        Folder to look for their files in; ``$SWNN_DATA`` if not given.

    Returns
    -------
    list of str
        "debtags", and what was found.

    Examples
    --------
    >>> from swnn_xp import datasets
    >>> "debtags" in datasets.available()
    True
    """
    return [row.published.name for row in describe(root) if row.at_hand]


def idf_weights(train: Any) -> Any:
    """Inverse document frequency of each column, smoothed: ln((1 + n) / (1 + df)) + 1.

    Parameters
    ----------
    train : csr_array
        Term counts without stored zeros.

    Returns
    -------
    ndarray
        One weight per column, float64.
    """
    n_rows, n_columns = train.shape
    df = np.bincount(train.indices, minlength=n_columns)
    return np.log((1 + n_rows) / (1 + df)) + 1


def tfidf(counts: Any, idf: Any) -> Any:
    """(1 + ln count) * idf at every stored entry; rows are not normalised.

    Parameters
    ----------
    counts : csr_array
        Term counts without stored zeros.
    idf : ndarray
        One weight per column.

    Returns
    -------
    csr_array
        float32, of the same structure.
    """
    values = (1 + np.log(counts.data)) * idf[counts.indices]
    return csr_array((values.astype(np.float32), counts.indices, counts.indptr), counts.shape)
