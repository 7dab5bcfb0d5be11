"""What fuzzing has tried so far: python -m fuzz.record FOLDER adds the logs of a run.

docs/data/fuzz.json has for each target the inputs of all runs, and speed and coverage of the last.
Inputs that reached new code are kept in tests/fuzz/corpus, the smallest ones of each target.
"""

from __future__ import annotations

import datetime
import json
import re
import sys
from pathlib import Path
from typing import Any

import promises
from fuzz.seeds import CORPUS, SEEDS

FILE = promises.ROOT / "docs" / "data" / "fuzz.json"
MOST, LONGEST = 40, 120  # inputs of a corpus in the repository, and bytes of one


def figures(log: str) -> dict[str, int]:
    """Inputs of a run, inputs per second of CPU, and edges of the code that they reached."""
    executed = re.findall(r"^stat::number_of_executed_units: (\d+)", log, re.MULTILINE)
    # Two: when fuzzing began, and at the end.
    seconds = re.findall(r"^CPU seconds: ([\d.]+)", log, re.MULTILINE)
    reached = re.findall(r"\bcov: (\d+)", log)
    if not (executed and len(seconds) == 2 and reached):
        raise ValueError(f"not the log of a whole run: {log[-300:]}")
    inputs = int(executed[-1])
    speed = inputs / max(0.1, float(seconds[1]) - float(seconds[0]))
    return {"inputs": inputs, "per_second": round(speed), "edges": int(reached[-1])}


def added(known: dict[str, Any], run: dict[str, int]) -> dict[str, Any]:
    """The record of a target after one more run."""
    total = known.get("inputs", 0) + run["inputs"]
    return run | {"inputs": total, "date": datetime.date.today().isoformat()}


def corpus(folder: Path, known: list[bytes]) -> list[bytes]:
    """The smallest inputs that the fuzzer found, but for those that are known."""
    found = {
        file.read_bytes() for file in folder.glob("*") if re.fullmatch(r"[0-9a-f]{40}", file.name)
    }
    return sorted(
        (data for data in found if 0 < len(data) <= LONGEST and data not in known),
        key=lambda data: (len(data), data),
    )[:MOST]


def summary(record: dict[str, dict[str, Any]]) -> str:
    total = sum(target["inputs"] for target in record.values())
    each = ", ".join(
        f"{name} {target['inputs']:,} ({target['per_second']:,}/s, {target['edges']:,} edges)"
        for name, target in record.items()
    )
    return f"{total:,} inputs, none fails: {each}"


def main() -> None:
    folder = Path(sys.argv[1])
    record = json.loads(FILE.read_text()) if FILE.exists() else {}
    CORPUS.mkdir(exist_ok=True)
    counted = []
    for name in SEEDS:
        log = folder / f"{name}.log"
        if not log.exists():
            continue
        record[name] = added(record.get(name, {}), figures(log.read_text(errors="replace")))
        counted.append(log)
        if found := corpus(folder / name, SEEDS[name]()):
            lines = "".join(f"{data.hex()}\n" for data in found)
            (CORPUS / f"{name}.txt").write_text(lines)
    FILE.write_text(json.dumps(record, indent=1) + "\n")
    for log in counted:
        log.unlink()
    promises.keep("fuzz", summary(record))
    print(summary(record))


if __name__ == "__main__":
    main()
