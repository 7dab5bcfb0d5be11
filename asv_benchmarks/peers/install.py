"""Install the peers one by one into this environment, and note which ones failed and why.

One that does not install must not keep the others away. The extra `peers` of the package lists the
same ones, for those who want all or nothing.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

from adapters import ALL

REPORT = Path(sys.prefix) / "peers.json"
# Its dependencies are for deep models that are not measured here, and weigh gigabytes.
WITHOUT_DEPENDENCIES = {"libpecos"}


def install(package):
    """Return None, or why it failed in one line."""
    words = ["--no-deps"] if package in WITHOUT_DEPENDENCIES else []
    command = [sys.executable, "-m", "pip", "install", "--quiet", *words, package]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return errors[-1].removeprefix("ERROR: ") if errors else f"pip ended with {done.returncode}"


def main():
    packages = ["matplotlib", "scikit-learn"]  # the plot, and what PECOS imports
    for name in ALL:
        package = importlib.import_module(f"adapters.{name}").Peer.package
        if package not in [*packages, "swnn_xp"]:
            packages.append(package)
    report = {package: install(package) for package in packages}
    for package, reason in report.items():
        print(f"{package:20s} {reason or 'installed'}", file=sys.stderr)
    REPORT.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
