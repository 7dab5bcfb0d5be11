"""Drive a target by coverage: python run_atheris.py TARGET SECONDS FOLDER (needs atheris).

Inputs that reach new code are kept in FOLDER/TARGET; one that fails is written there as crash-*.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def main() -> None:
    import atheris  # here, for the suite's doctests import this file

    target, seconds, folder = sys.argv[1:]
    sys.path.insert(0, str(Path(__file__).parents[1]))
    with atheris.instrument_imports(include=["swnn_xp", "json", "argparse", "gzip", "csv"]):
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
        f"-max_total_time={seconds}", "-print_final_stats=1", "-rss_limit_mb=6000", "-timeout=120",
        f"-artifact_prefix={corpus}/",
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *options, str(corpus)], TARGETS[target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
