"""The recorded answers: every backend gives them, and a wrong one is noticed."""

import pytest

from swnn_xp.backends import BACKENDS
from swnn_xp.cli.main import main
from swnn_xp.diagnostics import gpu_check

USABLE = [name for name, backend in BACKENDS.items() if backend.unusable() is None]


@pytest.mark.parametrize("backend", USABLE)
def test_every_backend_gives_the_recorded_bits(backend, capsys):
    assert main(["gpu-check", "--backend", backend, "--quick"]) == 0
    out = capsys.readouterr().out
    assert out.count("same bits") == 2
    assert "rows/s" in out


@pytest.mark.parametrize("answer", ["golden", "golden_ranked"])
def test_a_wrong_answer_fails(monkeypatch, capsys, answer):
    wrong = gpu_check.SIZES["small"]._replace(**{answer: "0" * 32})
    monkeypatch.setitem(gpu_check.SIZES, "small", wrong)
    assert main(["gpu-check", "--backend", "numpy", "--quick"]) == 1
    assert "DIFFERENT" in capsys.readouterr().out
