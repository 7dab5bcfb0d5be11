"""Run the suites for one commit in this environment and keep the result: `make bench`.

With --backfill asv builds old commits and runs the suites of today on them (`make bench-backfill`);
what a commit can't run has no figure there.

asv names results after the interpreter's path, so that each checkout would have lines of its own.
Here they are named after Python's version, and the file says nothing of where it was made.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from asv.machine import Machine, MachineCollection

HERE = Path(__file__).resolve().parent
VERSION = "{}.{}".format(*sys.version_info)
NEUTRAL = f"existing-py{VERSION}"
LIBRARY = ("swnn_xp", "kernels")
FIRST = "2730452"  # has sessions and saved models, which most suites need
FAILED = 2  # a benchmark failed; what did not fail has been written


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


def this_environment(revision):
    """asv's arguments to measure what is installed here, as a commit."""
    return ["--environment", f"existing:{sys.executable}", "--set-commit-hash", revision]


def old_commits(chosen):
    """asv's arguments to build and measure commits: the chosen ones, or else ten of the history.

    And the last that changed the library: asv lists the benchmarks by the newest commit.
    """
    changed = git("rev-list", f"{FIRST}~..HEAD", "--", *LIBRARY).split()
    spread = [*changed[:: len(changed) // 9 + 1], FIRST]
    return ["--no-walk " + " ".join([changed[0], *(chosen or spread)])]


def run_asv(machine, what, more):
    command = [sys.executable, "-m", "asv", "run", *what, "--machine", machine, *more]
    return subprocess.run(command, cwd=HERE, check=False).returncode


def neutralise(machine):
    """Rename the results that asv just wrote, and forget the environment in them.

    Benchmarks that were recorded before and did not run now are kept.
    """
    folder = HERE / "results" / machine
    written = sorted([*folder.glob("*-existing-py_*.json"), *folder.glob("*-virtualenv-*.json")])
    for path in written:
        result = json.loads(path.read_text())
        for name in result["requirements"]:
            del result["params"][name]
        result |= {"env_name": NEUTRAL, "python": VERSION, "requirements": {}}
        result["params"]["python"] = VERSION
        target = path.with_name(f"{result['commit_hash'][:8]}-{NEUTRAL}.json")
        if target.exists():
            result["results"] = json.loads(target.read_text())["results"] | result["results"]
        target.write_text(json.dumps(result, indent=1) + "\n")
        path.unlink()
        print(f"recorded {target.relative_to(HERE.parent)}")
    return len(written)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machine", required=True, help="name of the machine in results/")
    parser.add_argument("--commit", default="HEAD", help="revision that holds this library")
    parser.add_argument("--backfill", nargs="*", help="commits to build and measure; default: ten")
    arguments, more = parser.parse_known_args()
    if arguments.backfill is None:
        what, forgiven = this_environment(commit_to_record(arguments.commit)), 0
    else:
        what, forgiven = old_commits(arguments.backfill), FAILED
    introduce(arguments.machine)
    code = run_asv(arguments.machine, what, more)
    if not neutralise(arguments.machine):
        sys.exit(code or "asv wrote no result")
    sys.exit(0 if code == forgiven else code)


if __name__ == "__main__":
    main()
