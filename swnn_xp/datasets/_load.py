"""`load`: a data set by its name."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from ._dataset import Dataset
from ._debtags import load_debtags
from ._files import ROOT_VARIABLE, data_root, find_files
from ._named import load_named
from ._registry import PLAIN_FILES, REGISTRY, find_published, key
from ._weighting import idf_weights, tfidf


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
