"""Soak of the service: full load, reloads and abuse, for minutes. Run as a program.

    python tests/serve/soak.py MINUTES [SEED] [--write]

It fails if any request got a 500, a wrong answer or an unexpected status, or if memory, open files
or threads of the service have grown. Figures go to build/soak-serve.json, what the service says to
build/soak-serve.log, and with --write the figures go to the page of promises.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np

from swnn_xp import SWNNRanker, load
from swnn_xp.datasets import load as load_dataset

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "scripts")]

from serve.abuse import Target, abuse  # noqa: E402

RESULT, LOG = Path("build/soak-serve.json"), Path("build/soak-serve.log")
TOKEN, RELOAD_TOKEN = "soak-tökén".encode().hex(), "soak-reload-token"
MAX_BYTES, TIMEOUT, QUEUE = 200_000, 2.0, 64
ROWS, QUESTIONS, K = 1500, 60, 5
GROWTH_SHARE, GROWTH_BYTES = 0.05, 16 << 20  # of memory, that is no growth
MORE_FILES = 3
SAMPLE_SECONDS = 1.0


def main() -> int:
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # of connections that are aborted
    minutes, seed = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as name:
        report = soak(Path(name), 60 * minutes, seed)
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(report, indent=1) + "\n")
    print(summary(report))
    for fault in report["faults"]:
        print(f"  {fault}")
    if report["faults"]:
        return 1
    if "--write" in sys.argv:
        from promises import keep

        keep("soak-serve", summary(report))
    return 0


def soak(folder: Path, seconds: float, seed: int) -> dict:
    """Run the service under abuse; what was measured, and what was wrong."""
    models, target = prepare(folder)
    path = folder / "served"
    load(models[0]).save(path)
    command = [sys.executable, "-m", "swnn_xp.cli.main", "serve", str(path), "--port", "0"]
    command += ["--timeout", str(TIMEOUT), "--max-bytes", str(MAX_BYTES), "--queue", str(QUEUE)]
    tokens = {"SWNN_TOKEN": TOKEN, "SWNN_RELOAD_TOKEN": RELOAD_TOKEN}
    LOG.parent.mkdir(exist_ok=True)
    with (
        LOG.open("w") as log,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env=os.environ | tokens
        ) as server,
    ):
        try:
            url = server.stdout.readline().split()[-1]
            target.port = int(url.rpartition(":")[2])
            samples = watched(server.pid, target, (path, models), seconds, seed)
        finally:
            server.send_signal(signal.SIGTERM)
    faults = [f"{count} times {what}" for what, count in Counter(target.faults).items()]
    faults += grown(samples) + logged(LOG.read_text())
    return measured(target, samples, seconds) | {"faults": faults}


def logged(text: str) -> list[str]:
    """Errors in the log of the service, and the first traceback."""
    if "Traceback" not in text:
        return []
    ends = Counter(re.findall(r"^[A-Za-z_.]+(?:Error|Exception|Exit)\b", text, re.MULTILINE))
    first = text[text.index("Traceback") :][:3000]
    return [f"the service has logged {n} times {what}" for what, n in ends.items()] + [first]


def prepare(folder: Path) -> tuple[list[Path], Target]:
    """Fit two models on Debian packages; questions, and what each model answers."""
    data = load_dataset("debtags")
    X, Y = data.X_train, data.y_train
    names = {"feature_names": data.feature_names, "label_names": data.label_names}
    questions, right, paths = [], [], [folder / "one", folder / "two"]
    for i in range(QUESTIONS):
        row = data.X_test[[i]]
        ids, values = row.indices.tolist(), [float(v) for v in row.data]
        request = {"rows": [{"indices": ids, "values": values}], "k": K}
        questions.append(json.dumps(request).encode())
    for number, path in enumerate(paths):
        part = slice(number * ROWS, (number + 1) * ROWS)
        SWNNRanker().fit(X[part], Y[part], **names).save(path)
        right.append([answered(path, body) for body in questions])
    return paths, Target("127.0.0.1", 0, TOKEN, RELOAD_TOKEN, questions, right, MAX_BYTES)


def answered(path: Path, body: bytes) -> list[dict]:
    """Rows of the answer that a service over this model gives."""
    from swnn_xp.serve import Service

    if path not in _SERVICES:
        _SERVICES[path] = Service(path)
    return json.loads(asyncio.run(_SERVICES[path].answer(body)))["rows"]


_SERVICES: dict = {}


def watched(pid: int, target: Target, models: tuple, seconds: float, seed: int) -> list[dict]:
    """Abuse the service, with samples of what it holds before, during and after."""
    samples, done = [], threading.Event()

    def sample_and_swap() -> None:
        rng = np.random.default_rng(seed)
        while not done.wait(SAMPLE_SECONDS):
            samples.append(sample(pid))
            swap(*models, rng)

    asyncio.run(abuse(target, min(5.0, seconds / 4), seed + 1))  # compiled, buffers at their size
    before = sample(pid)
    thread = threading.Thread(target=sample_and_swap)
    thread.start()
    try:
        asyncio.run(abuse(target, seconds, seed))
    finally:
        done.set()
        thread.join()
    time.sleep(3 * TIMEOUT + 5)  # connections that clients have left open time out
    return [before, *samples, sample(pid)]


def swap(path: Path, models: list[Path], rng: np.random.Generator) -> None:
    """Save the other model over the served one; now and then damage it, so that reloads fail."""
    load(models[rng.integers(2)]).save(path)
    if rng.random() < 0.2:
        manifest = path / "manifest.json"
        whole = manifest.read_bytes()
        manifest.write_bytes(whole[:-10])
        time.sleep(0.5)
        manifest.write_bytes(whole)


def sample(pid: int) -> dict:
    """Memory of its own, open files and threads of a process."""
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    return {
        "memory": int(status["RssAnon"].split()[0]) << 10,
        "files": len(os.listdir(f"/proc/{pid}/fd")),
        "threads": int(status["Threads"]),
    }


def grown(samples: list[dict]) -> list[str]:
    """What has grown from the first half of the run to its end."""
    faults, (before, *during, after) = [], samples
    quarter = max(1, len(during) // 4)
    early = statistics.median(one["memory"] for one in during[quarter : 2 * quarter] or during)
    late = statistics.median(one["memory"] for one in during[-quarter:])
    if late > early * (1 + GROWTH_SHARE) + GROWTH_BYTES:
        faults.append(f"memory grew from {early / 1e6:.1f} to {late / 1e6:.1f} MB")
    for what in ("files", "threads"):
        if after[what] > before[what] + MORE_FILES:
            faults.append(f"{what} grew from {before[what]} to {after[what]}")
    return faults


def measured(target: Target, samples: list[dict], seconds: float) -> dict:
    """Figures of a run."""
    p50, p99 = (1e3 * np.quantile(target.times, [0.5, 0.99])).tolist()
    statuses: dict[str, dict[str, int]] = {}
    for (who, status), count in sorted(target.statuses.items()):
        statuses.setdefault(who, {})[str(status)] = count
    quarter = max(1, len(samples) // 4)
    early, late = samples[quarter : 2 * quarter] or samples, samples[-quarter:]
    return {
        "seconds": round(seconds),
        "requests": sum(target.statuses.values()),
        "server_errors": sum(n for (_, s), n in target.statuses.items() if s == 500),
        "p50_ms": round(p50, 3),
        "p99_ms": round(p99, 3),
        "memory_mb": [
            round(statistics.median(one["memory"] for one in part) / 1e6, 1)
            for part in (early, late)
        ],
        "files": [samples[0]["files"], samples[-1]["files"]],
        "statuses": statuses,
    }


def summary(report: dict) -> str:
    """One line for people, and for the page of promises."""
    early, late = report["memory_mb"]
    reloads = sum(report["statuses"].get("reloads", {}).values())
    return (
        f"{report['requests']:,} requests in {report['seconds'] / 60:.3g} minutes, "
        f"{report['server_errors']} with status 500, {reloads:,} reloads; single rows "
        f"p50 {report['p50_ms']:.2f}, p99 {report['p99_ms']:.1f} ms under that load; memory "
        f"{early:.0f} MB early, {late:.0f} MB late; open files {report['files'][0]} before, "
        f"{report['files'][1]} after"
    )


if __name__ == "__main__":
    sys.exit(main())
