"""Results have precise types for users who check theirs."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("typed_program.py")


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    cache = tmp_path_factory.mktemp("mypy")
    (cache / "mypy.ini").write_text(
        "[mypy]\nstrict = True\n[mypy-scipy.*,array_api_compat.*]\n"
        "ignore_missing_imports = True\nfollow_imports = skip\n"
    )

    def run(program):
        command = [sys.executable, "-m", "mypy", "--config-file", cache / "mypy.ini"]
        command += ["--follow-imports", "silent", "--cache-dir", cache / "cache", program]
        done = subprocess.run(command, capture_output=True, text=True, cwd=cache)
        return done.stdout + done.stderr

    return run


@pytest.mark.full  # mypy reads NumPy's types, without its cache
def test_results_have_precise_types(check, tmp_path):
    assert check(PROGRAM).startswith("Success")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(PROGRAM.read_text() + "    assert_type(labels, Numbers)\n")
    assert "assert-type" in check(wrong)
