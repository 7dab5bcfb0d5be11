"""Build, memory, model size, opening and appending at the size of the paper's largest set.

Usage: python asv_benchmarks/scale [--ranker] [--search capped] [--twin Amazon-670K] [--scale 1]
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from watch import Watched, run

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures"))

from recorded import record

_LARGE, _LIVE = "Amazon-3M", "Amazon-670K"
_ROWS: list[dict[str, str]] = []  # of docs/data/scale.json or training.json
_MEMORY_BUDGET = 10**9  # the default of estimators


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="rows of the twins (1)")
    parser.add_argument("--cache", type=Path, default=Path("build/bench-scale"))
    parser.add_argument("--ranker", action="store_true", help="train a ranker instead")
    parser.add_argument("--search", default="auto", help="how the ranker searches (auto)")
    parser.add_argument("--twin", default=_LIVE, help=f"what the ranker is trained on ({_LIVE})")
    arguments = parser.parse_args()
    if arguments.ranker:
        twin = _cached(arguments.twin, arguments.scale, arguments.cache)
        run("warm_up.py")
        trained = run("train_ranker.py", twin, _MEMORY_BUDGET, arguments.search)
        _print_ranker(arguments.twin, trained)
        if arguments.scale == 1:
            record("training", _ROWS, ("what",))
        return
    large, live = (_cached(name, arguments.scale, arguments.cache) for name in (_LARGE, _LIVE))
    run("warm_up.py")
    model = arguments.cache / "model"
    shutil.rmtree(model, ignore_errors=True)
    _print_build(run("build.py", large, model))
    _print_reopened(run("reopen.py", large, model))
    shutil.rmtree(model)
    _print_live(run("live.py", live))
    if arguments.scale == 1:
        record("scale", _ROWS, ("what",))


def _cached(name: str, scale: float, cache: Path) -> Path:
    folder = cache / f"{name}-{scale:g}"
    if not (folder / "manifest.json").exists():
        print(f"making the synthetic twin of {name} at scale {scale:g} (once) ...", flush=True)
        cache.mkdir(parents=True, exist_ok=True)
        run("twin_cache.py", name, scale, folder)
    return folder


def _print_build(watched: Watched) -> None:
    f = watched.figures
    print(
        f"\nSYNTHETIC twin of {_LARGE}: {f['rows']:,} rows, {f['nonzeros']:,} non-zeros, "
        f"{f['labels']:,} labels; S = 75, alpha = 2, beta = 1"
    )
    size = f"{f['rows'] / 1e6:.1f} million rows, {f['nonzeros'] / 1e6:.0f} million non-zeros"
    _note(f"index a twin of {_LARGE}: {size}", f"{f['build_cpu_seconds']:.1f} s CPU")
    _note("peak memory of indexing and querying it", f"{f['query_peak']:.2f} GB")
    _note("its model on disk", f"{f['model_gigabytes']:.2f} GB")
    _note("one query, S = 75", f"{f['query_cpu_ms']:.1f} ms CPU")
    _note("one query within 5,000 postings", f"{f['capped_query_cpu_ms']:.2f} ms CPU")
    _line("index built, cached data mapped", f"{f['build_seconds']:.1f} s", "60 s")
    _line("  CPU time of it", f"{f['build_cpu_seconds']:.1f} s")
    _line("peak memory, build and query", f"{f['query_peak']:.2f} GB", "4 GB")
    _line("  peak while building", f"{f['build_peak']:.2f} GB")
    _line("  largest private (anonymous) part", f"{watched.peak_anonymous:.2f} GB")
    _line("  largest part of mapped files", f"{watched.peak_file:.2f} GB")
    _line("  peak with saving the model", f"{watched.peak:.2f} GB")
    _line("index in memory", f"{f['index_gigabytes']:.2f} GB")
    _line("model on disk", f"{f['model_gigabytes']:.2f} GB", "1.5 GB")
    _line("one query, one thread", _latency(f))
    _line("  within 5,000 postings", f"{f['capped_query_cpu_ms']:.3f} ms CPU", "0.7 ms")
    _line("  peak memory with that", f"{f['capped_peak']:.2f} GB")
    _line("saving", f"{f['save_seconds']:.1f} s")


def _print_reopened(watched: Watched) -> None:
    f = watched.figures
    print("\nThe same model, opened memory-mapped in a new process")
    _note("open it", f"{f['open_ms']:.1f} ms")
    _line("opening", f"{f['open_ms']:.1f} ms, first {f['first_open_ms']:.1f} ms", "50 ms")
    _line("first answer", f"{f['first_answer_seconds']:.2f} s")
    _line("one query, one thread", _latency(f))
    _line("peak memory", f"{watched.peak:.2f} GB")
    _line("  largest private (anonymous) part", f"{watched.peak_anonymous:.2f} GB")


def _print_live(watched: Watched) -> None:
    f = watched.figures
    print(f"\nSYNTHETIC twin of {_LIVE}: {f['rows']:,} rows")
    _line(f"append {f['new']:,} rows", f"{f['append_seconds']:.3f} s CPU")
    _line("build again with them", f"{f['rebuild_seconds']:.2f} s CPU")
    what = f"append {f['new']:,} rows to a twin of {_LIVE}"
    _note(what, f"{f['append_seconds']:.3f} s CPU", f"a rebuild: {f['rebuild_seconds']:.2f} s")
    _line("ratio", f"{f['rebuild_seconds'] / f['append_seconds']:.0f}")


def _print_ranker(name: str, watched: Watched) -> None:
    f = watched.figures
    print(
        f"\nSYNTHETIC twin of {name}: {f['rows']:,} rows, {f['labels']:,} labels; a ranker with "
        f"{f['neighbours']} neighbours and {f['candidates']} candidates "
        f"(recall {f['recall']:.2f}), search {f['search']}"
    )
    what = f"train a ranker on a twin of {name}: {f['rows']:,} rows, {f['labels']:,} labels"
    if f["search"] != "exact":
        what += f", within {f['search']:,} postings"
    memory = f"peak memory {f['train_peak']:.2f} GB"
    _note(what, f"{f['train_cpu_seconds']:.0f} s CPU", memory, "make bench-training")
    _line("trained on one thread", f"{f['train_cpu_seconds']:.0f} s CPU")
    _line("  wall time of it", f"{f['train_seconds']:.0f} s")
    _line("peak memory of training", f"{f['train_peak']:.2f} GB", "8 GB")
    _line("  with ranking 1,000 rows", f"{watched.peak:.2f} GB")
    _line("  largest private (anonymous) part", f"{watched.peak_anonymous:.2f} GB")
    _line("weights of label models", f"{f['weights']:,}")
    _line("P@1 of 1,000 test rows", f"{f['p1']:.1f}")


def _latency(f: dict[str, float]) -> str:
    p50, p99 = f["query_p50_ms"], f["query_p99_ms"]
    return f"{f['query_cpu_ms']:.2f} ms CPU; wall p50 {p50:.2f}, p99 {p99:.2f}"


def _note(what: str, figure: str, beside: str = "", command: str = "make bench-scale") -> None:
    _ROWS.append({"what": what, "figure": figure, "beside": beside, "command": command})


def _line(what: str, found: str, target: str = "") -> None:
    print(f"{what:<38}{found:<42}" + (f"target {target}" if target else ""), flush=True)


if __name__ == "__main__":
    main()
