"""A few rounds of the soak; `make soak` does thousands."""

import collections

import pytest
from soak import soak

from swnn_xp.backends import BACKENDS


@pytest.mark.parametrize("number", range(0, 40, 8))
def test_backends_agree(number):
    counts = collections.Counter()
    usable = [name for name in ("numpy", "array-api") if BACKENDS[name].missing() is None]
    soak.run(7, number, usable, counts)
    assert set(counts) >= {"session", "pruned kernel", "numpy", "array-api"}


def test_a_difference_is_reported_with_its_round(monkeypatch):
    monkeypatch.setattr(soak, "differing", lambda *args: "labels")
    with pytest.raises(AssertionError, match="make soak SEED=7 ROUND=3"):
        soak.run(7, 3, [], collections.Counter())
