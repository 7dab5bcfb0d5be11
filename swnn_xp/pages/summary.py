"""The page of `swnn summarize`: tables, plots and a search box for labels and features."""

from __future__ import annotations

import json
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swnn_xp.checks import check_names
from swnn_xp.pages import charts, html
from swnn_xp.summary import Counts, Summary

_COLUMNS = ("", "min", "1st qu.", "median", "3rd qu.", "max", "mean")
_BUDGET = 2_000_000  # bytes of a catalogue: with two of them a page stays below 5 MB


def summary_page(
    counts: Counts,
    title: str,
    *,
    label_names: list[str] | None = None,
    feature_names: list[str] | None = None,
) -> str:
    """Describe a data set in one self-contained HTML page.

    Parameters
    ----------
    counts : Counts
        From `swnn_xp.summary.count`.
    title : str
        Headline, such as the name of the file.
    label_names, feature_names : list of str, optional
        Names to search for; ids where there are none.

    Examples
    --------
    >>> from swnn_xp.summary import count
    >>> page = summary_page(count([[1, 2], [0, 3]], [[1], [1]]), "tiny.txt")
    >>> "<title>tiny.txt</title>" in page
    True
    """
    for given, expected, what in (
        (label_names, counts.label_occurrences.size, "label_names"),
        (feature_names, counts.feature_occurrences.size, "feature_names"),
    ):
        check_names(given, expected, what)
    summary = counts.summary()
    body = [
        f"<header><h1>{escape(title)}</h1>",
        '<p class="soft">A multi-label data set in numbers</p></header>',
        html.tiles(_facts(summary)),
        f'<section class="card">{_tables(summary)}</section>',
        '<div class="pair">',
        _column("label", counts.label_occurrences, counts.labels_per_row, label_names),
        _column("feature", counts.feature_occurrences, counts.features_per_row, feature_names),
        "</div>",
    ]
    return html.page(title, "\n".join(body), scripts=["plots.js", "search.js"])


def _facts(summary: Summary) -> dict[str, str]:
    facts = {
        "rows": f"{summary.n_rows:,}",
        "features": f"{summary.n_features:,}",
        "labels": f"{summary.n_labels:,}",
    }
    if summary.features_used < summary.n_features:
        facts["features that occur"] = f"{summary.features_used:,}"
    if summary.labels_used < summary.n_labels:
        facts["labels that occur"] = f"{summary.labels_used:,}"
    return facts


def _tables(summary: Summary) -> str:
    rows = [
        (title, *(f"{number:,}" for number in numbers[:5]), f"{numbers.mean:,.1f}")
        for title, numbers in summary.tables().items()
    ]
    note = '<p class="soft">Occurrences are those of labels and features that occur at all.</p>'
    return "<h2>Five-number summaries</h2>" + html.table(_COLUMNS, rows) + note


def _column(noun: str, occurrences: NDArray, per_row: NDArray, names: list[str] | None) -> str:
    found = catalogue(occurrences, names)
    bars, tail = charts.histogram_bars(per_row), ""
    if bars.has_tail:
        tail = "<figcaption>The pale bar holds about the longest 1% of the rows.</figcaption>"
    return f"""<div class="{noun}s">
<section class="card"><h2>Find a {noun}</h2>{_search(noun, found)}</section>
<section class="card"><h2>{noun.capitalize()}s by rank</h2>
<figure>{charts.rank_frequency(occurrences, noun)}
<figcaption>Both axes are logarithmic. Point at the curve, or pick a {noun} above.</figcaption>
</figure></section>
<section class="card"><h2>{noun.capitalize()}s per row</h2>
<figure>{charts.histogram(bars, noun)}{tail}</figure></section>
</div>"""


def _search(noun: str, found: Catalogue) -> str:
    by = "name or id" if found.names is not None else "id"
    note = ""
    if not found.is_complete:
        least = f"{found.counts[-1]:,}" if found.counts else "0"
        note = (
            f'<p class="soft">The page carries the {len(found.ids):,} most frequent of '
            f"{found.n_used:,} {noun}s; the others occur in at most {least} rows.</p>"
        )
    return f"""
<div class="search" data-kind="{noun}">
<input type="search" aria-label="{noun}: {by}" placeholder="{by}" autocomplete="off">
<p class="status soft" role="status"></p>
<div class="scroll"><table class="found"><thead><tr><th scope="col">{noun}</th>
<th scope="col">id</th><th scope="col">rank</th><th scope="col">rows</th></tr></thead>
<tbody></tbody></table></div>{note}
<script type="application/json">{found.to_json()}</script>
</div>"""


class Catalogue(NamedTuple):
    """Searchable ids, names and counts, the most frequent first."""

    ids: list[int]
    names: list[str] | None
    counts: list[int]
    n_used: int
    """How many occur at all."""

    @property
    def is_complete(self) -> bool:
        """Whether everything that occurs is in it."""
        return len(self.ids) == self.n_used

    def to_json(self) -> str:
        """JSON that can stand inside a script element."""
        text = json.dumps(self._asdict(), ensure_ascii=False, separators=(",", ":"))
        return text.replace("<", "\\u003c")


def catalogue(counts: NDArray[Any], names: list[str] | None, budget: int = _BUDGET) -> Catalogue:
    """Take the most frequent (ties: the smaller id) until the budget is spent.

    Examples
    --------
    >>> catalogue(np.asarray([1, 0, 5]), ["a", "b", "c"]).names
    ['c', 'a']
    """
    n_used = int((counts > 0).sum())
    order = np.argsort(-counts, kind="stable")[:n_used]
    ids, kept = [], []
    for i in order.tolist():
        budget -= _size(i, int(counts[i]), names)
        if budget < 0:
            break
        ids.append(i)
        kept.append(int(counts[i]))
    return Catalogue(ids, None if names is None else [names[i] for i in ids], kept, n_used)


def _size(i: int, count: int, names: list[str] | None) -> int:
    numbers = len(str(i)) + len(str(count)) + 2
    if names is None:
        return numbers
    encoded = json.dumps(names[i], ensure_ascii=False).replace("<", "\\u003c")
    return numbers + len(encoded.encode()) + 1
