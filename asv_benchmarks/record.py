"""Run the suites for one commit in this environment and keep the result: `make bench`.

asv names results after the interpreter's path, so that each checkout would have lines of its own.
Here they are named after Python's version, and the file says nothing of where it was made.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from pathlib import Path

from asv.machine import Machine, MachineCollection

HERE = Path(__file__).resolve().parent
NEUTRAL = "existing-py{}.{}".format(*sys.version_info)
LIBRARY = ("swnn_xp", "kernels")


def git(*words):
    return subprocess.run(
        ["git", *words], cwd=HERE.parent, check=True, capture_output=True, text=True
    ).stdout.strip()


def commit_to_record(revision):
    """Full hash of the revision; it must hold the library that is about to be measured."""
    commit = git("rev-parse", "--verify", revision + "^{commit}")
    changed = git("diff", "--name-only", commit, "--", *LIBRARY)
    if changed:
        sys.exit(f"the library differs from {revision}: commit first ({changed.split()[0]})")
    return commit


def introduce(machine):
    """Tell asv of the machine: as described in results/, or else as asv finds it."""
    described = HERE / "results" / machine / "machine.json"
    facts = Machine.get_defaults() | {"machine": machine}
    if described.exists():
        facts |= json.loads(described.read_text())
        facts.pop("version", None)
    MachineCollection.save(machine, facts)


def run_asv(machine, commit, more):
    settings = ["--environment", f"existing:{sys.executable}", "--set-commit-hash", commit]
    command = [sys.executable, "-m", "asv", "run", *settings, "--machine", machine, *more]
    # 2 means that a benchmark failed; what did not fail has been written.
    return subprocess.run(command, cwd=HERE, check=False).returncode


def neutralise(machine):
    """Rename the results that asv just wrote, and forget the interpreter's path in them."""
    written = sorted((HERE / "results" / machine).glob("*-existing-py_*.json"))
    for path in written:
        result = json.loads(path.read_text())
        result["env_name"] = NEUTRAL
        result["python"] = result["params"]["python"] = platform.python_version()[:4]
        target = path.with_name(path.name.split("-existing-")[0] + f"-{NEUTRAL}.json")
        target.write_text(json.dumps(result, indent=1) + "\n")
        path.unlink()
        print(f"recorded {target.relative_to(HERE.parent)}")
    return len(written)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machine", required=True, help="name of the machine in results/")
    parser.add_argument("--commit", default="HEAD", help="revision that holds this library")
    arguments, more = parser.parse_known_args()
    commit = commit_to_record(arguments.commit)
    introduce(arguments.machine)
    code = run_asv(arguments.machine, commit, more)
    if not neutralise(arguments.machine):
        sys.exit(code or "asv wrote no result")
    sys.exit(code)


if __name__ == "__main__":
    main()
