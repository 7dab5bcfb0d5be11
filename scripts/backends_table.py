"""Write the capability table of `swnn_xp.backends` into its page; --check only compares."""

from __future__ import annotations

import sys
from pathlib import Path

from swnn_xp.backends import BACKENDS

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "backends.md"
BEGIN, END = "<!-- backends:begin -->\n", "<!-- backends:end -->"


def table() -> str:
    lines = ["| backend | what it is | devices | takes | install |", "|---|---|---|---|---|"]
    for b in BACKENDS.values():
        cells = (f"`{b.name}`", b.summary, ", ".join(b.devices), ", ".join(b.accepts))
        lines.append("| " + " | ".join([*cells, f"`{b.install}`"]) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    made = before + BEGIN + table() + END + after
    if "--check" in sys.argv:
        return int(made != text)
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
