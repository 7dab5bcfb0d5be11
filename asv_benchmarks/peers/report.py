"""The figures as Markdown tables, plots, and the page of the docs that holds both."""

from __future__ import annotations

import datetime
import platform
from pathlib import Path

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


def machine():
    """The processor in words; nothing that names the computer."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{len(models)} cores of {models[0]}, {platform.system()}"


def heading(arguments):
    today = datetime.date.today().isoformat()
    return (
        f"Measured {today} on {machine()}, one thread, CPU time of the process, "
        f"{arguments.queries} queries; retrieval of the {arguments.answers} best rows by cosine."
    )


def table(rows):
    """A Markdown table; ratios (in brackets) are to the first row that was measured, ours."""
    ours = next((row for row in rows if "failed" not in row), None)
    found = any("recall" in row for row in rows)
    names = ["", "ms/query", "queries/s in one call", "build s", "memory MB"]
    names += ["recall"] * found + ["P@1", "P@3", "P@5", "remark"]
    lines = ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    for row in rows:
        lines.append("| " + " | ".join(_cells(row, ours, found)) + " |")
    return "\n".join(lines)


def _cells(row, ours, found):
    version = f" {row['version']}" if "version" in row else ""
    title = row["title"] + version
    if "failed" in row:
        return [title, *["–"] * (7 + found), row["failed"].replace("|", "/")]
    cells = [title]
    for key, digits in (("ms_per_query", 3), ("queries_per_s", 0), ("build_s", 1)):
        cells.append(_with_ratio(row[key], ours[key], digits))
    cells.append(_with_ratio(row["memory_mb"], ours["memory_mb"], 0))
    if found:
        cells.append(f"{row['recall']:.3f}")
    return [*cells, *(f"{p:.2f}" for p in row["precision"]), row["note"]]


def _with_ratio(value, ours, digits):
    return f"{value:,.{digits}f} ({value / ours:.2f}x)" if ours > 0 else f"{value:,.{digits}f}"


def plot(results, path):
    """Quality against latency, a panel for each data set; classifiers and retrieval apart."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    done = [result for result in results if "failed" not in result]
    sets = list(dict.fromkeys(result["dataset"] for result in done))
    figure, axes = plt.subplots(
        len(sets), 1, figsize=(8, 4.2 * len(sets)), squeeze=False, layout="constrained"
    )
    for axis, name in zip(axes[:, 0], sets, strict=True):
        _panel(axis, [result for result in done if result["dataset"] == name], name)
    for suffix in (".png", ".svg"):
        figure.savefig(
            path.with_suffix(suffix), dpi=120, metadata={"Date": None} if suffix == ".svg" else None
        )
    plt.close(figure)


def _panel(axis, results, name):
    marks = {
        "retrieval": ("o", "neighbours by cosine, then a vote"),
        "classifier": ("s", "classifier"),
    }
    for kind, (mark, label) in marks.items():
        group = [result for result in results if result["kind"] == kind]
        colours = ["tab:red" if r["title"].startswith("swnn") else "tab:blue" for r in group]
        x, y = [r["ms_per_query"] for r in group], [r["precision"][0] for r in group]
        axis.scatter(x, y, c=colours, marker=mark, label=label, zorder=3)
        for result, at_x, at_y in zip(group, x, y, strict=True):
            axis.annotate(
                result["title"], (at_x, at_y), xytext=(5, 4), textcoords="offset points", fontsize=8
            )
    axis.set(xscale="log", xlabel="CPU ms a query, one thread (log)", ylabel="P@1 (%)", title=name)
    axis.margins(x=0.2, y=0.15)
    axis.grid(alpha=0.3)
    axis.legend(loc="lower right", fontsize=8)


def write_page(results, arguments, docs):
    """Put tables and plot between the marks of docs/peers.md."""
    plot(results, docs / "pictures" / "peers")
    parts = [heading(arguments), "![P@1 against latency of each peer](pictures/peers.png)"]
    for name in dict.fromkeys(result["dataset"] for result in results):
        for kind, title in (("retrieval", "neighbours"), ("classifier", "classifiers")):
            rows = [r for r in results if r["dataset"] == name and r["kind"] == kind]
            if rows:
                parts.append(f"### {name}: {title}\n\n{table(rows)}")
    page = docs / "peers.md"
    before, rest = page.read_text().split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n" + "\n\n".join(parts) + f"\n{END}{after}")
