"""Drive a target by coverage: python run_atheris.py TARGET SECONDS FOLDER (needs atheris).

Inputs that reach new code are kept in FOLDER/TARGET; one that fails is written there as crash-*.
Seconds are those of a clock; the first and last line tell those of the processor.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path
from typing import NamedTuple


class Plan(NamedTuple):
    """How to fuzz a target."""

    modules: tuple[str, ...]
    """Whose edges are counted: what parses and checks, for counting takes most of the time."""
    longest: int
    """Bytes of an input."""


ROOT = Path(__file__).resolve().parents[2]
STORE = ("swnn_xp.store", "swnn_xp.model", "swnn_xp.rows.canonical")
PLANS = {
    "readers": Plan(("swnn_xp.io",), 300),
    "compressed": Plan(("swnn_xp.io", "gzip"), 300),
    "json_lines": Plan(("swnn_xp.io", "json"), 400),
    "documents": Plan(("swnn_xp.io", "swnn_xp.text", "json", "csv"), 400),
    "names": Plan(("swnn_xp.store",), 200),
    "raw_manifest": Plan(("swnn_xp.store", "swnn_xp.model", "json"), 4096),
    "sealed_manifest": Plan((*STORE, "swnn_xp.learn", "swnn_xp.checks", "swnn_xp.text"), 100),
    "array_files": Plan(STORE, 420),
    "ranker_files": Plan((*STORE, "swnn_xp.learn"), 420),
    "command_line": Plan(("swnn_xp.cli", "swnn_xp.io", "swnn_xp.bulk", "swnn_xp.tuning"), 12),
    "http_body": Plan(("swnn_xp.serve", "swnn_xp.rows", "swnn_xp.model"), 400),
    "http_rows": Plan(("swnn_xp.serve", "swnn_xp.rows", "swnn_xp.model"), 60),
}


def others(modules: tuple[str, ...]) -> list[str]:
    """Modules of ours whose edges are not counted; atheris itself knows only whole packages."""
    files = [path.relative_to(ROOT).with_suffix("") for path in (ROOT / "swnn_xp").rglob("*.py")]
    names = [".".join(file.parts).removesuffix(".__init__") for file in files]
    return [name for name in names if not f"{name}.".startswith(tuple(f"{m}." for m in modules))]


def main() -> None:
    """Fuzz in a child, whose CPU time is known when it has ended: libFuzzer just exits."""
    if (child := os.fork()) == 0:
        fuzz(*sys.argv[1:])
    _, status, used = os.wait4(child, 0)
    print(f"CPU seconds: {used.ru_utime + used.ru_stime:.1f}")
    sys.exit(os.waitstatus_to_exitcode(status))


def fuzz(target: str, seconds: str, folder: str) -> None:
    """Fuzz a target; this does not return."""
    import atheris  # here, for the suite's doctests import this file

    sys.path.insert(0, str(ROOT / "tests"))
    plan = PLANS[target]
    packages = sorted({name.partition(".")[0] for name in plan.modules})
    with atheris.instrument_imports(include=packages, exclude=others(plan.modules)):
        from fuzz.seeds import seeds
        from fuzz.targets import TARGETS

        # Much is imported on first use: what is imported after this block is not instrumented.
        for data in seeds(target):
            TARGETS[target](data)
    corpus = Path(folder) / target
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds(target)):
        (corpus / f"seed-{number}").write_bytes(data)
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    options = [
        f"-max_total_time={seconds}", "-print_final_stats=1", "-rss_limit_mb=6000", "-timeout=1800",
        f"-max_len={plan.longest}", f"-artifact_prefix={corpus}/",
    ]  # fmt: skip
    print(f"CPU seconds: {time.process_time():.1f}", flush=True)  # this far
    atheris.Setup([sys.argv[0], *options, str(corpus)], TARGETS[target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
