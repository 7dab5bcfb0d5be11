"""The tables of trained models, from docs/data/quality.json and docs/data/published.json."""

from __future__ import annotations

import json

from adapters import RANKING
from results import FILE, measured, not_whole

SETS = ("bibtex", "delicious", "citeulike-t", "eurlex57k", "nvd-cpe", "finna-yso-en", "debtags")
_HYPHEN = "\N{NON-BREAKING HYPHEN}"
QUALITY = ("P@1", "P@3", "P@5", "nDCG@5", "RP@5", "PSP@5")
COSTS = (("train_s", "train s", 1), ("ms_per_query", "ms", 3), ("model_mb", "MB", 1))
TITLES = {
    "swnn_classifier": "swnn_xp, published",
    "swnn_weights": "swnn_xp, weights",
    "swnn_ranker": "swnn_xp, ranking",
    "swnn_names": "swnn_xp, ranking, names",
    "omikuji_parabel": "omikuji",
    "pecos_xr_linear": "PECOS",
    "napkinxc_plt": "napkinXC PLT",
    "napkinxc_br": "napkinXC BR",
    "liblinear_ovr": "one-vs-rest (LIBLINEAR)",
}


def recorded():
    """All rows of the repository, as the pages list them."""
    return in_order(json.loads(FILE.read_text()), SETS, RANKING)


def kept():
    """Those that were measured on whole test sets: others can't stand beside them."""
    return [row for row in recorded() if not not_whole([row], _whole_sets())]


def in_order(rows, sets, peers):
    """Rows by data set, then by peer."""
    known = [row for row in rows if row["dataset"] in sets and row["peer"] in peers]
    return sorted(known, key=lambda row: (sets.index(row["dataset"]), peers.index(row["peer"])))


def table(rows):
    """The table of one data set, the best figure of each metric bold; failures below it."""
    names = ["", *QUALITY, *(name for _, name, _ in COSTS)]
    done = [row for row in rows if "failed" not in row]
    several = len(done) > 1
    best = {name: max(round(row[name], 2) for row in done) if several else None for name in QUALITY}
    lines = ["| " + " | ".join(names) + " |", "|---" + "|---:" * (len(names) - 1) + "|"]
    lines += ["| " + " | ".join(_cells(row, best)) + " |" for row in done]
    failures = [f"- {_title(row)}: {row['failed']}" for row in rows if "failed" in row]
    return "\n".join([*lines, "", *failures] if failures else lines)


def _title(row):
    return TITLES.get(row["peer"], row["title"])


def _cells(row, best):
    quality = [f"{row[name]:.2f}" for name in QUALITY]
    marked = [
        f"**{text}**" if float(text) == best[name] else text
        for text, name in zip(quality, QUALITY, strict=True)
    ]
    costs = [f"{row[key]:,.{digits}f}" for key, _, digits in COSTS]
    return [_title(row), *marked, *costs]


def comparison(rows=None):
    """One table of all data sets, by default of all that the repository has."""
    rows, left_out = (kept(), recorded()) if rows is None else (rows, [])
    lines, failures = [], []
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        here = [row for row in rows if row["dataset"] == dataset]
        head, marks, *rest = table(here).split("\n\n")[0].splitlines()
        lines += [] if lines else [head, marks]
        lines += [f"| **{dataset}** |" + "  |" * (len(QUALITY) + len(COSTS)), *rest]
        lines += [_other(row) for row in _others() if row["dataset"] == dataset]
        failures += [f"- {dataset}, {_title(r)}: {r['failed']}" for r in here if "failed" in r]
    said = f"{measured(rows)} Versions: {_versions(rows)}.{_calibration(rows)}"
    said += not_whole(left_out, _whole_sets())
    return "\n".join([*lines, "", *failures, *([""] if failures else []), said])


def _calibration(rows):
    """How far probabilities are from the truth, where that was measured."""
    parts = []
    for peer, what in (("swnn_ranker", "five best labels"), ("swnn_names", "with names")):
        ours = [row for row in rows if row["peer"] == peer and "ECE" in row]
        found = ", ".join(f"{row['dataset']} {row['ECE']:.1f}%" for row in ours)
        parts += [f"{what}: {found}"] if found else []
    return f" Calibration error of the ranker, {'; '.join(parts)}." if parts else ""


def _other(row):
    """Figures that others have published, as a line of the table."""
    cells = [str(row.get(name, "")) for name in QUALITY] + [""] * len(COSTS)
    return f"| {row['title']} ([{row['source']}]({row['url']})) | " + " | ".join(cells) + " |"


def _versions(rows):
    """Each library once, with the version that was measured."""
    found = {_title(row).split(",")[0]: row["version"] for row in rows if "failed" not in row}
    return ", ".join(f"{name} {version}" for name, version in found.items())


def front():
    """README's table: a line for each method, P@1 and P@5 on each data set."""
    rows = [row for row in kept() if "failed" not in row]
    sets = [name for name in SETS if any(row["dataset"] == name for row in rows)]
    found = {(row["peer"], row["dataset"]): row for row in rows}
    best = {
        (dataset, metric): max(round(row[metric], 1) for row in rows if row["dataset"] == dataset)
        for dataset in sets
        for metric in ("P@1", "P@5")
    }
    lines = [
        "| P@1 / P@5, % | " + " | ".join(sets).replace("-", _HYPHEN) + " | training | answer |",
        "|---" + "|---:" * (len(sets) + 2) + "|",
    ]
    for peer in RANKING:
        here = [found.get((peer, dataset)) for dataset in sets]
        if any(here):
            costs = _costs(found.get((peer, "eurlex57k")))
            cells = [_pair(row, best) for row in here] + costs
            lines.append(f"| {TITLES[peer]} | " + " | ".join(cells) + " |")
    lines += list(_published(sets))
    return "\n".join(lines)


def ranker_costs():
    """What the ranker costs on each data set."""
    rows = [row for row in kept() if row["peer"] == "swnn_ranker" and "failed" not in row]
    kinds = (
        ("training, CPU s", "train_s", 1, 1),
        ("memory of the process that trains, GB", "peak_mb", 1e3, 2),
        ("saved model, MB", "model_mb", 1, 0),
        ("an answer, CPU ms", "ms_per_query", 1, 2),
    )
    lines = ["|  | " + " | ".join(row["dataset"] for row in rows).replace("-", _HYPHEN) + " |"]
    lines.append("|---" + "|---:" * len(rows) + "|")
    for title, key, unit, digits in kinds:
        cells = [f"{row[key] / unit:,.{digits}f}" if key in row else "" for row in rows]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def slower():
    """Where the ranker takes longer to train than other models, as a sentence."""
    rows = [row for row in kept() if "failed" not in row]
    ours = {row["dataset"]: row["train_s"] for row in rows if row["peer"] == "swnn_ranker"}
    said = []
    for dataset, seconds in ours.items():
        faster = [
            f"{_title(row)} {row['train_s']:,.1f} s"
            for row in rows
            if row["dataset"] == dataset
            and not row["peer"].startswith("swnn_")
            and row["train_s"] < seconds
        ]
        if faster:
            said.append(f"{dataset} ({seconds:,.1f} s; {', '.join(faster)})")
    if not said:
        return "- On none of the sets does another model train in less CPU time."
    machines = len({row["machine"] for row in rows})
    where = " (not all were measured on the same machine)" if machines > 1 else ""
    return f"- Other models train in less CPU time{where} on {'; '.join(said)}."


def _costs(row):
    if not row:
        return ["", ""]
    seconds = f"{row['train_s']:,.{0 if row['train_s'] >= 1 else 1}f}"
    return [f"{seconds} s", f"{row['ms_per_query']:.2f} ms"]


def _pair(row, best):
    if row is None:
        return ""
    texts = [(f"{row[metric]:.1f}", metric) for metric in ("P@1", "P@5")]
    return "\N{NO-BREAK SPACE}/ ".join(
        f"**{text}**" if float(text) == best[row["dataset"], metric] else text
        for text, metric in texts
    )


def _others():
    return json.loads(FILE.with_name("published.json").read_text())


def _whole_sets():
    """Number of test rows of each data set."""
    rows = json.loads(FILE.with_name("sets.json").read_text())
    return {row["dataset"]: row["test"] for row in rows}


def _published(sets):
    """Figures of others, as they published them."""
    for row in _others():
        pair = f"–\N{NO-BREAK SPACE}/ {row['P@5']}"
        cells = [pair if dataset == row["dataset"] else "" for dataset in sets]
        title = f"{row['title']} ([{row['source']}]({row['url']}))"
        yield f"| {title} | " + " | ".join([*cells, "", ""]) + " |"
