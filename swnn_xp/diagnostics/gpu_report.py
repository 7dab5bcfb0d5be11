"""What `swnn gpu-check --bench` writes: a Markdown page, and a result for asv's dashboard."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from swnn_xp.diagnostics.gpu_bench import STAGES, Measurements, stages_of

BENCHMARK = "stages.Stages.time_stage"
"""The suite in asv_benchmarks/benchmarks that draws these results."""
BENCHMARK_VERSION = "1"
_COLUMNS = ["result", "params", "version", "started_at"]
_SEND = """\
Please attach this page to an issue of the project. A pull request that adds it is as welcome: the
page beside the result that `--asv` writes, in `asv_benchmarks/results/NAME`."""


def to_markdown(found: Sequence[Measurements], checks: Sequence[str], facts: Sequence[str]) -> str:
    """Write the page.

    Parameters
    ----------
    found : sequence of Measurements
        One for each data set.
    checks : sequence of str
        What the recorded problems showed, a line each.
    facts : sequence of str
        Device, host and versions, a line each.
    """
    lines = ["# GPU check", "", *(f"- {fact}" for fact in facts), ""]
    lines += ["## Answers", "", *(f"- {check}" for check in checks)]
    lines += [f"- {_compared(each)}" for each in found]
    for each in found:
        lines += ["", f"## {each.data}", "", *_speed(each), "", *_bandwidth(each)]
    return "\n".join([*lines, "", "## Where to send this page", "", _SEND, ""])


def _compared(found: Measurements) -> str:
    rows = sum(batch.rows for batch in found.batches)
    same = f"all {rows:,} rows have" if not found.n_different else f"{found.n_different:,} rows of"
    same += " the same bits" if not found.n_different else f" {rows:,} DIFFER"
    return f"{found.data.partition(':')[0]}, beside the numba backend: {same}"


def _speed(found: Measurements) -> list[str]:
    """Queries per second: a line for each stage, a column for each size of a batch."""
    lines = [_cells("queries per second", *(f"batch of {b.rows:,}" for b in found.batches))]
    lines.append(_cells("---", *("---:" for _ in found.batches)))
    for stage in stages_of(found.batches):
        rates = (_rate(batch.rows, batch.seconds.get(stage)) for batch in found.batches)
        lines.append(_cells(f"{stage}: {STAGES[stage]}", *rates))
    for whole in ("predict", "ranked predict"):
        host = (_rate(batch.rows, batch.host_seconds[whole]) for batch in found.batches)
        lines.append(_cells(f"all cores of the host, numba: {whole}", *host))
        times = (
            f"{batch.host_seconds[whole] / batch.seconds[whole]:.3g}" for batch in found.batches
        )
        lines.append(_cells(f"**device ÷ host: {whole}**", *times))
    return lines


def _bandwidth(found: Measurements) -> list[str]:
    lines = []
    for batch in found.batches:
        rate = batch.posting_bytes / batch.seconds["search"]
        peak = f", {rate / found.peak:.1%} of the stated peak" if found.peak else ""
        lines.append(
            f"- Batches of {batch.rows:,}: {batch.posting_bytes / batch.rows / 1e3:,.0f} kB of "
            f"postings per query, read at {rate / 1e9:.3g} GB/s{peak}."
        )
    stated = f"{found.peak / 1e9:,.0f} GB/s" if found.peak else "not stated"
    lines.append(f"- Peak of the device's memory: {stated}; a copy: {found.copy / 1e9:.3g} GB/s.")
    return lines


def _rate(rows: int, seconds: float | None) -> str:
    return "" if seconds is None else f"{rows / seconds:,.0f}"


def _cells(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def software(backend: str) -> str:
    """The versions that matter, in one line."""
    library = [backend] if backend in ("cupy", "torch") else []
    modules = [import_module(name) for name in (*library, "numpy", "numba")]
    versions = ", ".join(f"{module.__name__} {module.__version__}" for module in modules)
    if backend == "cupy":
        runtime = modules[0].cuda.runtime
        cuda, driver = runtime.runtimeGetVersion(), runtime.driverGetVersion()
        versions += f", CUDA {cuda}, driver for CUDA {driver}"
    return f"{versions}, {platform.platform()}"


def checkout_commit() -> tuple[str, int]:
    """Commit of the checkout that this code is in, and its time; ValueError if it is in none."""
    folder = Path(__file__).resolve().parent
    command = ["git", "-C", str(folder), "log", "-1", "--format=%H %ct"]
    try:
        found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        found = []
    if len(found) != 2:
        raise ValueError("--asv needs a git checkout: asv keeps results by commit")
    return found[0], int(found[1])


def write_asv(
    folder: Path, commit: tuple[str, int], backend: str, found: Measurements, cpu: str
) -> Path:
    """Add a data set's seconds to what asv keeps of this commit and machine.

    Parameters
    ----------
    folder : path
        That of the machine, ``asv_benchmarks/results/NAME``; made if it is missing.
    commit : (str, int)
        From `checkout_commit`.
    backend : str
    found : Measurements
    cpu : str
        The machine in words.

    Returns
    -------
    path
        The file.
    """
    machine = {
        "arch": platform.machine(),
        "cpu": cpu,
        "machine": folder.resolve().name,
        "num_cpu": str(os.cpu_count()),
        "os": platform.system(),
        "ram": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9:.0f} GB",
    }
    folder.mkdir(parents=True, exist_ok=True)
    if (described := folder / "machine.json").exists():
        machine = {name: json.loads(described.read_text())[name] for name in machine}
    else:
        described.write_text(json.dumps(machine | {"version": 1}, indent=1) + "\n")
    python = "{}.{}".format(*sys.version_info)
    name = f"existing-py{python}"
    target = folder / f"{commit[0][:8]}-{name}.json"
    result: dict[str, Any] = {
        "commit_hash": commit[0],
        "env_name": name,
        "date": commit[1] * 1000,
        "params": machine | {"python": python},
        "python": python,
        "requirements": {},
        "env_vars": {},
        "result_columns": _COLUMNS,
        "results": {},
        "durations": {},
        "version": 2,
    }
    if target.exists():
        result |= json.loads(target.read_text())
    stages = stages_of(found.batches)
    seconds = [[batch.seconds.get(stage) for stage in stages] for batch in found.batches]
    figures = [float("nan") if s is None else s for batch in seconds for s in batch]
    params = [repr(backend)], [str(b.rows) for b in found.batches], list(map(repr, stages))
    values = {
        "result": figures,
        "params": list(params),
        "version": BENCHMARK_VERSION,
        "started_at": int(time.time() * 1000),
    }
    result["results"][BENCHMARK] = [values.get(column) for column in result["result_columns"]]
    target.write_text(json.dumps(result, indent=1) + "\n")
    return target
