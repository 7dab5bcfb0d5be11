"""Compare two revisions by `asv continuous`, each built in an environment of its own.

`make bench-compare BASE=<rev>`. Ends with 1 if something got slower than the factor. Its results
are kept apart from the recorded ones: they come from other environments.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

from record import HERE, introduce

WORK = HERE.parent / ".asv"


def write_config():
    """The configuration with results of its own; paths in it count from its folder."""
    config = json.loads((HERE / "asv.conf.json").read_text())
    config |= {"repo": str(HERE.parent), "benchmark_dir": str(HERE / "benchmarks")}
    config |= {"env_dir": "env", "results_dir": "compared", "html_dir": "compared-html"}
    WORK.mkdir(exist_ok=True)
    path = WORK / "compare.conf.json"
    path.write_text(json.dumps(config, indent=1))
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", help="the older revision")
    parser.add_argument("new", nargs="?", default="HEAD")
    parser.add_argument("--machine", required=True)
    parser.add_argument("--factor", default="1.3", help="slower than this is a regression")
    arguments, more = parser.parse_known_args()
    introduce(arguments.machine)
    command = [sys.executable, "-m", "asv", "continuous", "--config", str(write_config())]
    command += ["--factor", arguments.factor, "--machine", arguments.machine, "--split", *more]
    sys.exit(subprocess.run([*command, arguments.base, arguments.new], check=False).returncode)


if __name__ == "__main__":
    main()
