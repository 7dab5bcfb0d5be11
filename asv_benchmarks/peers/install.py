"""Install the peers one by one, and note which ones failed and why.

`install.py` installs those of `make bench-peers`, `install.py ranking` those of
`make bench-quality`, `install.py NAME ...` those of the adapters named.

A peer that does not install must not keep the others away. Those that can share this environment
are the package's extra `peers`; the others get environments of their own (`environments.py`).
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

from adapters import ALL, RANKING
from environments import folder_of, python_of

REPORT = Path(sys.prefix) / "peers.json"
SHARED = ("matplotlib",)  # for the plots


def run(*command):
    """Return None, or in one line why the command failed."""
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return errors[-1].removeprefix("ERROR: ") if errors else f"pip ended with {done.returncode}"


def pip_install(python, *packages):
    return run(python, "-m", "pip", "install", "--quiet", *packages)


def install(peer):
    """Install a peer where it runs; None, or why that failed."""
    folder, python = folder_of(peer), python_of(peer)
    if folder is None:
        return pip_install(python, peer.package)
    if not folder.exists() and (reason := run(sys.executable, "-m", "venv", str(folder))):
        return reason
    # Its other dependencies are for deep models that are not measured here, and weigh gigabytes.
    return pip_install(python, *peer.own_requirements) or pip_install(
        python, "--no-deps", peer.package
    )


def main(names=()):
    """Install the peers of these adapters; without names all, and what the plots need."""
    packages = () if names else SHARED
    report = {package: pip_install(sys.executable, package) for package in packages}
    for name in RANKING if names == ["ranking"] else names or ALL:
        peer = importlib.import_module(f"adapters.{name}").Peer()
        if peer.package not in (*report, "swnn_xp"):
            report[peer.package] = install(peer)
    for package, reason in report.items():
        print(f"{package:20s} {reason or 'installed'}", file=sys.stderr)
    noted = json.loads(REPORT.read_text()) if REPORT.exists() else {}
    REPORT.write_text(json.dumps(noted | report, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
