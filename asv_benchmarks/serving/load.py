"""Load test of `swnn serve` on EURLEX57K with wrk, against the bare session on the same rows.

    python asv_benchmarks/serving/load.py ../shared/data/eurlex57k build/bench-serving
    python asv_benchmarks/serving/load.py ../shared/data/eurlex57k build/bench-serving 1 ranking

Single-row requests over loopback with 1, 8 and 64 connections. The bare session and the service
take turns, and the best turn of each counts: on a shared machine the others measure what else runs
there. CPU time of the service per request is less affected by that.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from swnn_xp import SWNNClassifier, SWNNRanker, load, read_xmc

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))

from recorded import record

CONNECTIONS = (1, 8, 64)
ROWS = 1000
TURNS = 5
SECONDS = 3
K = 5
FAULTS = ("refused", "broken", "late")


def main() -> None:
    data, work = Path(sys.argv[1]), Path(sys.argv[2])
    if shutil.which("wrk") is None:
        sys.exit("left out: wrk is not installed (apt-get install wrk)")
    if not data.is_dir():
        sys.exit(f"left out: no data at {data}")
    threads = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    kind = sys.argv[4] if len(sys.argv) > 4 else "published"
    model = work / ("model" if kind == "published" else kind)
    X = prepare(data, work, model)
    clf = load(model)
    command = [sys.executable, "-m", "swnn_xp.cli.main", "serve", str(model)]
    command += ["--port", "0", "--threads", str(threads), "--queue", "128"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().split()[-1]
            report(measure(clf, X, url, server.pid, work / "bodies.jsonl"), kind, threads)
        finally:
            server.terminate()


def prepare(data: Path, work: Path, model: Path):
    """Fit and save the model, write the requests; both only once."""
    work.mkdir(parents=True, exist_ok=True)
    X, _ = read_xmc(data / "test.txt.xz")
    X = X[:ROWS]
    if not model.exists():
        clf = SWNNRanker() if model.name == "ranking" else SWNNClassifier()
        clf.fit(*read_xmc(data / "train.txt.xz")).save(model)
    with (work / "bodies.jsonl").open("w") as file:
        for i in range(X.shape[0]):
            row = X[[i]]
            values = [round(value, 6) for value in row.data.tolist()]
            json.dump({"rows": [{"indices": row.indices.tolist(), "values": values}], "k": K}, file)
            file.write("\n")
    return X


def measure(clf, X, url: str, pid: int, bodies: Path) -> dict:
    wrk(url, bodies, 1, 1)
    found: dict = {"bare": []} | {connections: [] for connections in CONNECTIONS}
    for _ in range(TURNS):
        found["bare"].append(bare(clf, X))
        for connections in CONNECTIONS:
            before = cpu_seconds(pid)
            turn = wrk(url, bodies, connections, SECONDS)
            turn["cpu"] = 1e3 * (cpu_seconds(pid) - before) / turn["requests"]
            found[connections].append(turn)
    return found


def bare(clf, X) -> dict:
    """The session alone, in this process, on one thread."""
    session = clf.session()
    rows = [(X[[i]].indices, X[[i]].data) for i in range(X.shape[0])]
    times = []
    started, cpu = time.perf_counter(), time.process_time()
    while time.perf_counter() - started < SECONDS:
        for indices, values in rows:
            begun = time.perf_counter()
            session.topk_probabilities_one(indices, values, K)  # as the service does
            times.append(1e3 * (time.perf_counter() - begun))
    p50, p99 = np.quantile(times, [0.5, 0.99])
    seconds = time.perf_counter() - started
    cpu = 1e3 * (time.process_time() - cpu) / len(times)
    return {"requests": len(times), "seconds": seconds, "p50": p50, "p99": p99, "cpu": cpu}


def wrk(url: str, bodies: Path, connections: int, seconds: int) -> dict:
    script = Path(__file__).with_name("rows.lua")
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(script), url]
    printed = subprocess.run(
        [*command, "--", str(bodies)], capture_output=True, text=True, check=True
    ).stdout
    return json.loads(next(line for line in printed.splitlines() if line.startswith("JSON"))[5:])


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def report(found: dict, kind: str, threads: int) -> None:
    best = {
        who: {
            "rate": max(turn["requests"] / turn["seconds"] for turn in turns),
            **{key: min(turn[key] for turn in turns) for key in ("p50", "p99", "cpu")},
            "faults": [sum(turn.get(kind, 0) for turn in turns) for kind in FAULTS],
        }
        for who, turns in found.items()
    }
    print(f"best of {TURNS} turns of {SECONDS} s; {threads} thread(s) behind HTTP")
    print(f"{'':<16}{'rows/s':>10}{'p50 ms':>10}{'p99 ms':>10}{'CPU ms':>10}  {'/'.join(FAULTS)}")
    for who, figures in best.items():
        name = "bare session" if who == "bare" else f"{who} connection" + "s" * (who > 1)
        print(
            f"{name:<16}{figures['rate']:>10,.0f}{figures['p50']:>10.3f}{figures['p99']:>10.3f}"
            f"{figures['cpu']:>10.3f}  {'/'.join(map(str, figures['faults']))}"
        )
    rows = [
        {
            "kind": kind,
            "threads": threads,
            "connections": 0 if who == "bare" else who,
            "requests_per_s": round(figures["rate"]),
            **{f"{name}_ms": round(float(figures[name]), 3) for name in ("p50", "p99", "cpu")},
        }
        for who, figures in best.items()
    ]
    record("serving", rows, ("kind", "threads", "connections"))
    print(
        f"HTTP adds {best[1]['p50'] - best['bare']['p50']:.3f} ms at p50 with 1 connection, "
        f"and {best[1]['cpu'] - best['bare']['cpu']:.3f} ms of CPU time per request"
    )


if __name__ == "__main__":
    main()
