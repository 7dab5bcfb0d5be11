"""The tables of the pages, each made from the files of docs/data."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
for folder in ("peers", "quality", "figures"):
    sys.path.insert(0, str(HERE.parent / folder))

import gpu  # noqa: E402
from page import comparison, front, ranker_costs, slower  # noqa: E402
from recorded import read  # noqa: E402
from results import measured, not_whole  # noqa: E402

NAMES = {"eurlex57k": "EURLEX57K"}
SETTINGS = ((25, 1), (25, 0), (75, 1), (75, 0))


def markdown(names, rows, numbers=0):
    """A Markdown table; the last ``numbers`` columns are aligned to the right."""
    marks = ["---"] * (len(names) - numbers) + ["---:"] * numbers
    lines = ["| " + " | ".join(names) + " |", "|" + "|".join(marks) + "|"]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines)


def precision(row, at=(1, 3, 5)):
    return " / ".join(f"{row[f'P@{k}']:.2f}" for k in at)


def complete(names, lines, name):
    """The table without a column that some lines lack: a run of the benchmark fills it."""
    place = names.index(name)
    if all(line[place] for line in lines):
        return names, lines
    names, *lines = ([*line[:place], *line[place + 1 :]] for line in (names, *lines))
    return names, lines


def _name(dataset):
    if dataset.startswith("twin:"):
        return f"twin of {dataset.split(':')[1]}"
    return NAMES.get(dataset, dataset)


def latency():
    """One query beside the paper's loop, a line for each data set."""
    rows = read("latency")
    lines = []
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        here = {(row["S"], row["beta"]): row for row in rows if row["dataset"] == dataset}
        one = here[25, 1]
        lines.append(
            [
                _name(dataset),
                f"{one['rows']:,}",
                f"{one['postings']:,.0f}",
                f"{one['ms']:.3f}" if "ms" in one else "",
                *(f"{here[setting]['ratio']:.1f}" for setting in SETTINGS),
                f"{max(row['p99_over_mean'] for row in here.values()):.1f}",
                f"{one['bytes_per_nonzero']:.1f}",
            ]
        )
    names = ["data set", "rows", "postings per query", "ms"]
    names += [f"S={S}, β={beta}" for S, beta in SETTINGS] + ["p99 / mean", "bytes per non-zero"]
    names, lines = complete(names, lines, "ms")
    return markdown(names, lines, len(names) - 1) + "\n\n" + measured(rows)


def tradeoffs():
    """What precision buys in time on EURLEX57K: caps, and rankers that keep fewer rows.

    The precision of a compressed ranker is that of the report, wherever it was measured there.
    """
    kept_rows = {
        row["keep"]: row
        for row in read("compression")
        if (row["dataset"], row["method"]) == ("eurlex57k", "ranked")
    }
    lines = [
        [
            "published" + (f", {row['postings']:,} postings" if row["postings"] else ", exact"),
            precision(row),
            f"{row['answer_us']:.0f}" if "answer_us" in row else "",
            f"{row['ratio']:.1f}",
        ]
        for row in read("caps")
    ]
    for row in read("ranked_latency"):
        kept = "all rows" if row["keep"] == 1 else f"{row['keep']:.0%} of the rows"
        few = f", S = {row['S']}, K = {row['K']}" if row["K"] < 100 else ""
        cap = f", {row['search']:,} postings" if row.get("search", "exact") != "exact" else ""
        lines.append(
            [
                f"ranking, {kept}{few}{cap}",
                precision(row if few or cap else kept_rows.get(row["keep"], row)),
                f"{row['answer_us']:.0f}",
                f"{row['ratio']:.1f}",
            ]
        )
    names = ["EURLEX57K", "P@1 / P@3 / P@5", "answer, µs", "times the loop's speed"]
    names, lines = complete(names, lines, "answer, µs")
    shown = read("caps") + read("ranked_latency")
    return markdown(names, lines, len(names) - 1) + "\n\n" + measured(shown)


def costs():
    """Everything else that takes time or memory."""
    rows = [
        row for name in ("reading", "text", "store", "scale", "training") for row in read(name)
    ] + list(_requests())
    lines = [[row["what"], _beside(row), f"`{row['command']}`"] for row in rows]
    return markdown(["what", "figure", "command"], lines) + "\n\n" + measured(rows)


def _beside(row):
    return row["figure"] + (f" ({row['beside']})" if row["beside"] else "")


def _requests():
    """One HTTP request over one connection, for each kind of model and number of threads."""
    rows = {(row["kind"], row["threads"], row["connections"]): row for row in read("serving")}
    for (kind, threads, connections), row in rows.items():
        if connections != 1:
            continue
        alone = rows[kind, threads, 0]
        options = f" THREADS={threads}" * (threads > 1) + f" LEARN={kind}" * (kind == "ranking")
        yield row | {
            "what": f"an HTTP request, {kind}, {threads} thread{'s' * (threads > 1)}",
            "figure": f"{row['p50_ms']:.2f} ms at p50, {row['p99_ms']:.1f} ms at p99",
            "beside": f"the session alone: {alone['p50_ms']:.2f} ms",
            "command": f"make bench-serving{options}",
        }


def backends():
    """Every backend on one CPU thread: a search, and a ranker's answers."""
    rows = read("backends")
    lines = [
        [
            f"`{row['backend']}`",
            f"{row['search_ms']:.2f}",
            f"{row['times_plain']:.2f}",
            f"{1e3 / row['ranked_ms']:,.0f}",
            f"{row['ranked_alone_ms']:.1f}",
        ]
        for row in rows
    ]
    names = ["", "search on EURLEX57K, ms", "times plain SciPy's"]
    names += ["ranked batch on bibtex, rows/s", "one ranked row, ms"]
    return markdown(names, lines, len(names) - 1) + "\n\n" + measured(rows)


def dense_head():
    """Torch's products with the frequent features apart."""
    rows = read("dense_head")
    lines = [
        [
            _name(row["dataset"]),
            row["head"],
            f"{row['head_share']:.0%}",
            f"{row['search_ms']:.2f}",
            f"{row['sparse_ms']:.2f}",
            f"{row['dense_ms'] + row['rest_ms']:.2f}",
            f"{row['dense_ms']:.2f}",
        ]
        for row in rows
    ]
    names = ["data set", "frequent features", "their share of the entries", "whole search, ms"]
    names += ["products, ms", "with a dense part, ms", "of that the dense part, ms"]
    return markdown(names, lines, len(names) - 1) + "\n\n" + measured(rows)


def _gpu(lines_of, texts, *args):
    names, lines, rows = lines_of(*args)
    return markdown(names, lines, len(names) - texts) + "\n\n" + measured(rows)


def search():
    """Exact neighbours beside other libraries: time of one query on each data set."""
    rows = read("peers")
    sets = list(dict.fromkeys(row["dataset"] for row in rows))
    peers = dict.fromkeys(row["peer"] for row in rows)
    found = {(row["peer"], row["dataset"]): row for row in rows}
    lines = []
    for peer in peers:
        here = [found.get((peer, dataset)) for dataset in sets]
        known = next(row for row in here if row)
        cells = []
        for row, dataset in zip(here, sets, strict=True):
            if not row or "failed" in row:
                cells.append("")
                continue
            ratio = row["ms_per_query"] / found["swnn_session", dataset]["ms_per_query"]
            cells.append(f"{row['ms_per_query']:.3f} ({ratio:.1f})")
        recalls = [row["recall"] for row in here if row and "failed" not in row]
        title = f"{known['title']} {known.get('version', '')}".strip()
        lines.append([title, *cells, f"{min(recalls):.3f}" if recalls else ""])
    names = ["", *map(_name, sets), "lowest recall"]
    return markdown(names, lines, len(names) - 1) + "\n\n" + measured(rows)


def sets():
    """The data sets in numbers."""
    keys = ("train", "test", "features", "labels", "features_per_row", "labels_per_row")
    lines = [
        [_name(row["dataset"]), *(f"{row[key]:,}" for key in keys), f"{row['rows_per_label']:,}"]
        for row in read("sets")
    ]
    names = ["data set", "training rows", "test rows", "features", "labels", "features per row"]
    names += ["labels per row", "rows per label"]
    return markdown(names, lines, len(names) - 1)


def checksums():
    """SHA-256 of the files of the data sets."""
    lines = [
        [_name(row["dataset"]), f"`{file}`", f"`{digest}`"]
        for row in read("sets")
        for file, digest in row.get("sha256", {}).items()
    ]
    return markdown(["data set", "file", "SHA-256"], lines)


def compression():
    """Precision and time of a query against the part of the rows that is kept."""
    rows = read("compression")
    found = {(row["dataset"], row["method"], row["keep"]): row for row in rows}
    sets, parts = (dict.fromkeys(row[key] for row in rows) for key in ("dataset", "keep"))
    lines = []
    for dataset, keep in itertools.product(sets, parts):
        cells = []
        for method in ("ranked", "as published"):
            row = found.get((dataset, method, keep))
            cells += [precision(row, (1, 5)), f"{row['ms']:.3f}"] if row else ["", ""]
        if any(cells):
            lines.append([_name(dataset), f"{keep:.0%}", *cells])
    names = ["data set", "rows kept", "ranking, P@1 / P@5", "ms", "published, P@1 / P@5", "ms"]
    whole = {row["dataset"]: row["test"] for row in read("sets")}
    return markdown(names, lines, 5) + "\n\n" + measured(rows) + not_whole(rows, whole)


def weights():
    """The published method with feature weights learned from few rows, and from the default."""
    rows = read("weights")
    if not rows:
        return "`make bench-weights WRITE=1` writes this table."
    found = {(row["dataset"], row["max_rows"]): row for row in rows}
    titles = {row["max_rows"]: _title(row) for row in sorted(rows, key=lambda r: r["max_rows"])}
    lines = []
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        here = [found.get((dataset, max_rows)) for max_rows in titles]
        lines.append([_name(dataset), *(_weighted(row) if row else "" for row in here)])
    names = ["P@1 / P@5, CPU time", *titles.values()]
    return markdown(names, lines, len(titles)) + "\n\n" + measured(rows)


def seeds():
    """Lowest and highest precision over seeds, a line for each data set."""
    rows = read("seeds")
    lines = []
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        here = [row for row in rows if row["dataset"] == dataset]
        ranges = [sorted(row[f"P@{k}"] for row in here) for k in (1, 3, 5)]
        lines.append([_name(dataset), len(here), *(f"{r[0]:.2f}–{r[-1]:.2f}" for r in ranges)])
    return markdown(["", "seeds", "P@1", "P@3", "P@5"], lines, 4) + "\n\n" + measured(rows)


def capped():
    """What a cap on postings costs in precision and saves in time, a block for each data set."""
    found = read("capped")
    sets = list(dict.fromkeys(row["dataset"] for row in found))  # runs may have taken turns
    rows = sorted(found, key=lambda row: sets.index(row["dataset"]))
    lines = [
        [
            _name(row["dataset"]) if row["search"] == "exact" else "",
            "exact" if row["search"] == "exact" else f"{row['search']:,}",
            f"{row['postings']:,}",
            precision(row),
            f"{row['train_s']:.0f}",
            f"{row['answer_us']:.0f}",
        ]
        for row in rows
    ]
    names = [
        "", "cap", "postings of a query", "P@1 / P@3 / P@5", "training, s CPU", "answer, µs CPU",
    ]  # fmt: skip
    return markdown(names, lines, 5) + "\n\n" + measured(rows)


def _title(row):
    if row["default"]:
        return "the default"
    return f"`max_rows={row['max_rows']:_}`" if row["max_rows"] else "no weights"


def _weighted(row):
    return precision(row, (1, 5)) + (f", {row['train_s']:.1f} s" if "train_s" in row else "")


def ablations():
    """The ranker as it is, then the difference that each change makes."""
    rows = {(row["change"], row["dataset"]): row for row in read("ablations")}
    if not rows:
        return "`make bench-ablations WRITE=1` writes this table."
    sets = list(dict.fromkeys(dataset for _, dataset in rows))
    lines = []
    for change in dict.fromkeys(change for change, _ in rows):
        cells = []
        for dataset in sets:
            row, base = rows.get((change, dataset)), rows.get(("none", dataset))
            cells += _difference(row, None if change == "none" else base) if row else ["", ""]
        lines.append(["**as it is**" if change == "none" else change, *cells])
    names = ["change"]
    for dataset in sets:
        names += [f"{_name(dataset)}, P@1 / P@5", "PSP@5"]
    return markdown(names, lines, len(names) - 1) + "\n\n" + measured(rows.values())


def _difference(row, base):
    """P@1, P@5 and PSP@5 of a row, or how they differ from another one's."""
    metrics = ("P@1", "P@5", "PSP@5")
    values = [round(row[name] - (base[name] if base else 0), 2) + 0.0 for name in metrics]
    if not any(values):
        return ["same", "same"]
    texts = [f"{value:{'+' if base else ''}.2f}" for value in values]
    return [" / ".join(texts[:2]), texts[2]]


def appends():
    """Single answers by the number of rows that were appended one by one."""
    rows = read("appends")
    sets = list(dict.fromkeys(row["dataset"] for row in rows))
    lines = []
    for n in dict.fromkeys(row["appends"] for row in rows):
        here = [row for row in rows if row["appends"] == n]
        answers = [
            " / ".join(f"{row['answer_us']:.0f}" for row in here if row["dataset"] == dataset)
            for dataset in sets
        ]
        title = f"{n:,}" if n != "compact" else _compacted(here)
        lines.append([title, here[0]["segments"], *answers, *_append_times(here)])
    names = ["appends", "segments", *(f"{_name(dataset)}, µs" for dataset in sets)]
    names += ["an append, ms", "the longest, ms", "first answer after it, ms"]
    return markdown(names, lines, len(names) - 1) + "\n\n" + measured(rows)


def _append_times(rows):
    """Lowest and highest over the models of what appends cost."""
    for key in ("append_ms", "longest_ms", "first_ms"):
        is_shown = key == "first_ms" or rows[0]["appends"] != "compact"
        values = sorted(row[key] for row in rows if is_shown and key in row)
        yield f"{values[0]:.1f}–{values[-1]:.1f}" if values else ""


def _compacted(rows):
    """Title of the row after `compact`, with how long that took."""
    values = sorted(row["append_ms"] for row in rows)
    return f"after `compact`, which took {values[0]:.0f}–{values[-1]:.0f} ms"


def cluster():
    """What a shard costs, and what a billion rows would."""
    rows = read("cluster")
    sets = list(dict.fromkeys(row["dataset"] for row in rows))
    found = {(row["what"], row["dataset"]): row["value"] for row in rows}
    lines = [
        [what, *(f"{found[what, dataset]:,.4g}" for dataset in sets)]
        for what in dict.fromkeys(row["what"] for row in rows)
        if what not in _SMALL_STEPS
    ]
    lines += [
        [f"**a billion rows:** {what}", *cells]
        for what, cells in _billion(found, sets, shards=(64, 16))
    ]
    names = ["", *(_name(dataset) for dataset in sets)]
    return markdown(names, lines, len(sets)) + "\n\n" + measured(rows)


def _billion(found, sets, shards, total=1e9, block=1024, cores=8):
    """The measured figures times a billion rows: memory, time and network."""

    def of(what):
        return [found[what, dataset] for dataset in sets]

    memory = [bytes_ * total / 1e9 for bytes_ in of("index with labels, bytes per row")]
    search = [ns * total / n / 1e6 for ns, n in zip(of(_SEARCH), shards, strict=True)]
    sent = [
        (n * (query + 2 * listed) + labels) / 1e3
        for n, query, listed, labels in zip(
            shards,
            of("query, bytes"),
            of("top-S list, bytes per query"),
            of("labels of winners, bytes per query"),
            strict=True,
        )
    ]
    yield "shards", [str(n) for n in shards]
    yield "memory of all shards, GB", [f"{value:,.0f}" for value in memory]
    yield (
        "search of one query in a shard, one core, ms",
        [f"{value:.0f}" for value in search],
    )
    yield "network per query, kB", [f"{value:.0f}" for value in sent]
    yield (
        f"a block of {block:,} queries, {cores} cores per shard, queries per second",
        [f"{1e3 * cores / value:.0f}" for value in search],
    )


def growth():
    """Precision of the ranker and of omikuji as the training rows of a set grow."""
    rows = read("growth")
    if not rows:
        return "`make bench-growth WRITE=1` writes this table."
    found = {(row["dataset"], row["rows"], row["peer"]): row for row in rows}
    lines = []
    for dataset, n_rows in sorted({(row["dataset"], row["rows"]) for row in rows}):
        ours, its = (
            found.get((dataset, n_rows, peer)) for peer in ("swnn_ranker", "omikuji_parabel")
        )
        cells = [f"{precision(row)}|{row['train_s']:.0f}" if row else "|" for row in (ours, its)]
        gap = ""
        if ours and its:
            gap = " / ".join(f"{ours[f'P@{k}'] - its[f'P@{k}']:+.2f}" for k in (1, 3, 5))
        parts = [cell for both in cells for cell in both.split("|")]
        lines.append([_name(dataset), f"{n_rows:,}", *parts, gap])
    names = ["data set", "rows", "ranking, P@1 / P@3 / P@5", "train s"]
    names += ["omikuji, P@1 / P@3 / P@5", "train s", "ahead by"]
    return markdown(names, lines, len(names) - 1) + "\n\n" + measured(rows)


_SEARCH = "search, ns per query and training row"
# Recorded, and used for the network of a billion rows, but too small to matter on the page.
_SMALL_STEPS = {
    "merge of two lists, µs per query",
    "labels of winners, µs per query",
    "vote, µs per query",
    "query, bytes",
    "top-S list, bytes per query",
    "labels of winners, bytes per query",
}


def never_seen():
    """Labels that were kept out of the training: how many names alone find."""
    rows = [row for row in read("names") if row["what"] == "never seen"]
    lines = [
        [
            row["dataset"],
            f"{row['labels']:,} of {row['of']:,}",
            row["method"],
            f"{row['queries']:,}",
            f"{row['P@5']:.1f}",
            f"{row['recall@5']:.1f}",
        ]
        for row in rows
    ]
    names = ["data set", "labels never seen", "", "test rows", "P@5", "recall@5 of these labels"]
    about = "Training rows with one of these labels are left out; test rows without one, too. "
    about += "`make bench-never-seen`. "
    return markdown(names, lines, 3) + "\n\n" + about + measured(rows)


def names_cost():
    """What names cost a query, and how much memory they take."""
    rows = [row for row in read("names") if row["what"] == "cost"]
    lines = [
        [
            f"{row['names']:,}",
            f"{row['us']:.0f}",
            f"{row['us_with_names']:.0f}",
            f"{row['us_with_names'] - row['us']:.1f}",
            f"{row['bytes_per_name']:.0f}",
        ]
        for row in rows
    ]
    names = ["names", "µs a query without", "with them", "more", "bytes a name"]
    return markdown(names, lines, len(names)) + "\n\n`make bench-names`. " + measured(rows)


def annif():
    """One model beside an ensemble, by `annif eval`."""
    rows = [row for row in read("names") if row["what"] == "annif"]
    metrics = ("P@1", "P@3", "P@5", "F1@5", "nDCG@5")
    lines = [[row["dataset"], row["method"], *(f"{row[m]:.1f}" for m in metrics)] for row in rows]
    about = f"{rows[0]['queries']:,} test rows as texts, their words in no order; "
    about += "`make bench-annif`. "
    return (
        markdown(["data set", "", *metrics], lines, len(metrics)) + "\n\n" + about + measured(rows)
    )


TABLES = {
    "annif": annif,
    "names_cost": names_cost,
    "never_seen": never_seen,
    "front": front,
    "ranker_costs": ranker_costs,
    "slower": slower,
    "comparison": comparison,
    "sets": sets,
    "checksums": checksums,
    "search": search,
    "backends": backends,
    "latency": latency,
    "tradeoffs": tradeoffs,
    "costs": costs,
    "weights": weights,
    "compression": compression,
    "ablations": ablations,
    "seeds": seeds,
    "capped": capped,
    "growth": growth,
    "cluster": cluster,
    "appends": appends,
    "dense_head": dense_head,
    "gpu_search": lambda: _gpu(gpu.search_lines, 1, _name),
    "gpu_stages": lambda: _gpu(gpu.stage_lines, 2, _name),
    "gpu_kernels": lambda: _gpu(gpu.kernel_lines, 1),
    "gpu_model": lambda: _gpu(gpu.model_lines, 2, _name),
}
