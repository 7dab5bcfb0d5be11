"""The figures as Markdown tables, between the marks of docs/quality.md."""

from __future__ import annotations

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
QUALITY = ("P@1", "P@3", "P@5", "nDCG@5", "RP@5", "PSP@1", "PSP@3", "PSP@5")
COSTS = (("train_s", "train s", 1), ("ms_per_query", "ms", 3), ("model_mb", "MB", 1))


def in_order(rows, sets, peers):
    """Rows as the page lists them: by data set, then by peer."""
    known = [row for row in rows if row["dataset"] in sets and row["peer"] in peers]
    return sorted(known, key=lambda row: (sets.index(row["dataset"]), peers.index(row["peer"])))


def table(rows):
    """The table of one data set, the best figure of each metric bold; failures below it."""
    names = ["", *QUALITY, *(name for _, name, _ in COSTS)]
    done = [row for row in rows if "failed" not in row]
    best = {name: max((round(row[name], 2) for row in done), default=None) for name in QUALITY}
    lines = ["| " + " | ".join(names) + " |", "|---" + "|---:" * (len(names) - 1) + "|"]
    lines += ["| " + " | ".join(_cells(row, best)) + " |" for row in done]
    failures = [f"- {row['title']} failed: {row['failed']}" for row in rows if "failed" in row]
    return "\n".join([*lines, "", *failures] if failures else lines)


def _cells(row, best):
    quality = [f"{row[name]:.2f}" for name in QUALITY]
    marked = [
        f"**{text}**" if float(text) == best[name] else text
        for text, name in zip(quality, QUALITY, strict=True)
    ]
    costs = [f"{row[key]:,.{digits}f}" for key, _, digits in COSTS]
    return [f"{row['title']} {row['version']}", *marked, *costs]


def figures(rows):
    """Everything between the marks."""
    days = sorted({row["date"] for row in rows})
    machines = sorted({row["machine"] for row in rows})
    parts = [
        f"Measured {' to '.join(dict.fromkeys([days[0], days[-1]]))} on {'; '.join(machines)}."
    ]
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        here = [row for row in rows if row["dataset"] == dataset]
        title = dataset
        if n_rows := next((row["test_rows"] for row in here if row.get("test_rows")), None):
            title += f", {n_rows:,} test rows"
        parts.append(f"## {title}\n\n{table(here)}")
    return "\n\n".join(parts)


def summary(rows):
    """README's table: ours and the best of the trained peers by P@1, a line for each data set."""
    lines = [
        "| P@1 / 3 / 5, % | as published | learned ranking | best trained peer | training, CPU s |",
        "|---|---|---|---|---|",
    ]
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        here = {row["peer"]: row for row in rows if row["dataset"] == dataset}
        done = {name: row for name, row in here.items() if "failed" not in row}
        peers = [row for name, row in done.items() if not name.startswith("swnn")]
        ours = done.get("swnn_classifier"), done.get("swnn_ranker")
        if not peers or None in ours:
            continue
        best = max(peers, key=lambda row: row["P@1"])
        seconds = f"{ours[1]['train_s']:,.0f} against {best['train_s']:,.0f}"
        cells = [_precision(ours[0]), f"**{_precision(ours[1])}**"]
        cells += [f"{_precision(best)} ({best['title']})", seconds]
        lines.append(f"| {dataset} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _precision(row):
    return " / ".join(f"{row[f'P@{k}']:.1f}" for k in (1, 3, 5))


def filled(text, inner):
    """A page with something else between its marks."""
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{inner}\n{END}{after}"
