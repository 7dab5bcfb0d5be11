"""The summary page as text: what it carries, what it must not contain, how big it gets."""

import json
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swnn_xp.pages import summary_page
from swnn_xp.pages.charts import histogram, histogram_bars, rank_frequency, rank_points
from swnn_xp.pages.summary import catalogue
from swnn_xp.summary import Counts, count


def carried(page, kind):
    box = page[page.index(f'data-kind="{kind}"') :]
    return json.loads(re.search(r'application/json">(.*?)</script>', box, re.DOTALL)[1])


def test_tables_and_names(page, counts):
    summary = counts.summary()
    for numbers in summary.tables().values():
        assert f"<td>{numbers.max:,}</td>" in page
        assert f"<td>{numbers.mean:,.1f}</td>" in page
    labels = carried(page, "label")
    assert labels["counts"] == sorted(counts.label_occurrences.tolist(), reverse=True)
    assert labels["names"][0] == "red"
    assert labels["n_used"] == 5


def test_one_file_that_asks_nobody(page):
    assert not re.search(r"""(src|href)\s*=|url\(|@import|https?://""", page)
    assert "default-src 'none'" in page


def test_names_cannot_break_out(page):
    assert "<script>document.title" not in page


def test_millions_of_names_stay_below_five_megabytes():
    rng = np.random.default_rng(0)
    many = rng.zipf(1.6, 1_000_000).clip(max=10**6)
    few = np.ones(5, np.int64)
    page = summary_page(
        Counts(many, few, few, many),
        "large",
        label_names=[f"a label {i}" for i in range(many.size)],
    )
    assert len(page.encode()) < 5_000_000
    labels = carried(page, "label")
    assert 10_000 < len(labels["ids"]) < labels["n_used"] == many.size
    assert labels["counts"][-1] >= np.sort(many)[::-1][len(labels["ids"])]
    assert f"The page carries the {len(labels['ids']):,} most frequent of 1,000,000" in page
    assert carried(page, "feature")["names"] is None


def test_an_empty_data_set_has_a_page_too():
    page = summary_page(count(np.zeros((0, 3)), np.zeros((0, 2))), "nothing")
    assert "<title>nothing</title>" in page


def test_names_must_fit():
    with pytest.raises(ValueError, match="label_names has 1 names, expected 2"):
        summary_page(count(np.eye(2), np.eye(2)), "x", label_names=["a"])


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(0, 400))
def test_catalogue(counts, budget):
    counts = np.asarray(counts, np.int64)
    names = [f"n<{i}" for i in range(counts.size)]
    found = catalogue(counts, names, budget)
    order = sorted((i for i in range(counts.size) if counts[i]), key=lambda i: (-counts[i], i))
    assert found.ids == order[: len(found.ids)]
    assert found.counts == [counts[i] for i in found.ids]
    assert found.names == [names[i] for i in found.ids]
    assert json.loads(found.to_json())["names"] == found.names
    assert "<" not in found.to_json()
    assert len(found.to_json()) <= budget + len('{"ids":[],"names":[],"counts":[],"n_used":10}')


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=200))
def test_histogram_bars(counts):
    counts = np.asarray(counts)
    bars = histogram_bars(counts)
    assert sum(bars.rows) == counts.size
    assert len(bars.rows) <= 41
    for low, high, rows in zip(bars.lows, bars.highs, bars.rows, strict=True):
        assert rows == ((counts >= low) & (counts <= high)).sum()
    assert bars.lows[0] == counts.min()
    assert bars.highs[-1] == counts.max()
    if bars.has_tail:
        assert bars.rows[-1] <= 0.01 * counts.size


@given(st.lists(st.integers(0, 3000), max_size=200))
@settings(max_examples=5)  # each is drawn
def test_histogram_draws_every_bar(counts):
    bars = histogram_bars(np.asarray(counts, np.int64))
    assert histogram(bars, "label").count('class="bar"') == len(bars.rows)


@given(st.lists(st.integers(0, 10**7), max_size=40))
def test_rank_points_hold_the_extremes(counts):
    counts = np.asarray(counts, np.int64)
    points = rank_points(counts)
    used = np.sort(counts[counts > 0])[::-1]
    assert all(used[rank - 1] == count for rank, count in points)
    if used.size:
        assert points[0] == [1, used[0]]
        assert points[-1] == [used.size, used[-1]]


@given(st.lists(st.integers(0, 10**7), max_size=40))
@settings(max_examples=5)  # each is drawn
def test_rank_plot_draws_its_points_where_the_script_finds_them(counts):
    counts = np.asarray(counts, np.int64)
    svg = rank_frequency(counts, "label")
    points = json.loads(re.search("data-points='(.*?)'", svg)[1])
    left, top, width, height, across, up = json.loads(re.search("data-frame='(.*?)'", svg)[1])
    assert points == rank_points(counts)
    curve = re.search('<g class="curve">(.*?)</g>', svg, re.DOTALL)
    drawn = re.findall(r"[ML] (\S+) (\S+)", curve[1]) if curve else []
    for (rank, n), (x, y) in zip(points, drawn, strict=True):
        assert float(x) == pytest.approx(left + math.log10(rank) / across * width, abs=0.01)
        assert float(y) == pytest.approx(top + height - math.log10(n) / up * height, abs=0.01)
        assert 0 <= float(x) <= 480
        assert 0 <= float(y) <= 300
