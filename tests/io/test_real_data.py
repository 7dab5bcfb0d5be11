"""The real files beside the repository, if there are any."""

from pathlib import Path

import numpy as np
import pytest

from swnn_xp.io import read_names, read_xmc

DATA = Path(__file__).parents[3] / "shared" / "data"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="left out: there is no ../shared/data")


@pytest.mark.parametrize(
    ("name", "n", "d", "n_labels"),
    [
        ("bibtex", 2515, 1836, 159),
        ("citeulike-t", 5189, 20000, 52919),
        ("delicious", 3185, 500, 983),
    ],
)
def test_strict_reads_them_and_both_readers_agree(name, n, d, n_labels):
    folder = DATA / name
    plain = read_xmc(folder / "test.txt.xz", strict=True, engine="python")
    quick = read_xmc(folder / "test.txt.xz", strict=True, engine="fast")
    assert (plain[0].shape, plain[1].shape) == ((n, d), (n, n_labels))
    for ours, theirs in zip(quick, plain, strict=True):
        np.testing.assert_array_equal(ours.indptr, theirs.indptr)
        np.testing.assert_array_equal(ours.indices, theirs.indices)
        np.testing.assert_array_equal(ours.data, theirs.data)
    assert len(read_names(folder / "label_map.txt.xz")) == n_labels
    assert len(read_names(folder / "feature_map.txt.xz")) == d
