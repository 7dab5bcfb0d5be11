"""The recorded answers: every backend gives them, and a wrong one is noticed; `--bench`."""

import dataclasses
import json

import pytest

from swnn_xp import SWNNClassifier, datasets, write_xmc
from swnn_xp.backends import BACKENDS
from swnn_xp.cli.main import main
from swnn_xp.diagnostics import gpu_bench, gpu_check, gpu_report

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


def test_a_device_that_fails_is_no_difference(monkeypatch, capsys):
    def fail(*_):
        raise RuntimeError("illegal memory access\nand more")

    monkeypatch.setattr(gpu_check, "check", fail)
    assert main(["gpu-check", "--backend", "numpy", "--quick"]) == 2
    error = capsys.readouterr().err
    assert error == (
        "swnn: error: backend 'numpy' failed on this device: RuntimeError: illegal memory access\n"
    )


@pytest.fixture
def little(monkeypatch, tmp_path):
    """A hundredth of debtags for `--bench`, and a folder with data of one's own."""
    debtags = datasets.load("debtags")
    kept = {name: getattr(debtags, name)[:200] for name in ("X_train", "y_train", "X_test")}
    part, load = dataclasses.replace(debtags, **kept), datasets.load
    monkeypatch.setattr(
        datasets, "load", lambda name, **kw: part if name == "debtags" else load(name, **kw)
    )
    monkeypatch.setattr(gpu_bench, "QUICK_SIZES", (4, 300))
    monkeypatch.setattr(gpu_bench, "_SECONDS", 0.0)
    (tmp_path / "own").mkdir()
    for name in ("train", "test"):
        write_xmc(tmp_path / "own" / f"{name}.txt", part.X_train[:50, :900], part.y_train[:50])
    return tmp_path


COMPARED = [name for name in USABLE if not BACKENDS[name].reference]
BENCH = ["gpu-check", "--bench", "--quick", "--backend"]


@pytest.mark.parametrize("backend", COMPARED)
def test_the_bench_runs_to_the_end_and_writes_a_page(little, capsys, backend):
    page = little / "gpu.md"
    assert main([*BENCH, backend, "--data", str(little / "own"), "-o", str(page)]) == 0
    assert f"wrote {page}" in capsys.readouterr().out
    text = page.read_text()
    for data, rows in (("debtags", 304), ("own", 304)):
        assert f"{data}, beside the numba backend: all {rows} rows have the same bits" in text
    assert text.count("| queries per second | batch of 4 | batch of 300 |") == 2
    stages = ["search", "votes", "predict", "rank", "ranked predict"]
    if backend in ("cupy", "torch"):
        stages += ["upload", "download", "predict on device"]
    for stage in stages:
        (first, second) = (line for line in text.splitlines() if line.startswith(f"| {stage}:"))
        for line in (first, second):
            rates = [float(cell.replace(",", "")) for cell in line.split("|")[2:4]]
            assert all(rate > 0 for rate in rates)
    assert "GB/s" in text
    assert "an issue of the project" in text


def test_the_bench_adds_a_result_for_asv(little, monkeypatch):
    results = pytest.importorskip("asv.results")
    monkeypatch.setattr(gpu_report, "checkout_commit", lambda: ("c" * 40, 1_700_000_000))
    machine = little / "results" / "my-gpu"
    machine.mkdir(parents=True)
    page = ["-o", str(little / "gpu.md")]
    for backend in ("numpy", "numba"):
        monkeypatch.setattr(gpu_report, "BENCHMARK", f"suite.of_{backend}")
        assert main([*BENCH, backend, *page, "--asv", str(machine)]) == 0
    (path,) = machine.glob("cccccccc-existing-py3.*.json")
    assert json.loads((machine / "machine.json").read_text())["machine"] == "my-gpu"
    found = results.Results.load(str(path))
    assert set(found.get_all_result_keys()) == {"suite.of_numpy", "suite.of_numba"}  # joined
    params = [["'numpy'"], ["4", "300"], found.get_result_params("suite.of_numpy")[2]]
    values = found.get_result_value("suite.of_numpy", params)
    assert len(values) == 2 * len(params[2]) > 8
    assert all(seconds > 0 for seconds in values)


def test_the_suite_of_the_dashboard_has_the_stages_and_the_version():
    from benchmarks.loading import load

    suite = load("stages")
    assert suite.STAGES == tuple(gpu_bench.STAGES)
    assert gpu_bench.SIZES == suite.SIZES
    assert suite.Stages.time_stage.version == gpu_report.BENCHMARK_VERSION
    assert f"stages.{suite.Stages.__name__}.time_stage" == gpu_report.BENCHMARK


def test_the_bench_notices_a_wrong_answer(little, monkeypatch, capsys):
    predict = SWNNClassifier.predict_topk

    def wrong(self, X, k=5, **more):
        labels, scores = predict(self, X, k, **more)
        if self.backend == "numpy" and X.shape[0] == 4:  # the recorded problem has more rows
            labels = labels.copy()
            labels[2, 0] += 1
        return labels, scores

    monkeypatch.setattr(SWNNClassifier, "predict_topk", wrong)
    assert main([*BENCH, "numpy"]) == 1
    assert "debtags, beside the numba backend: 1 rows of 304 DIFFER" in capsys.readouterr().out


def test_what_the_bench_needs_is_said_before_the_work(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(gpu_check, "check", None)  # never called
    assert main(["gpu-check", "-o", "page.md"]) == 2
    assert "--data, -o and --asv go with --bench" in capsys.readouterr().err
    assert main([*BENCH, "numpy", "--data", str(tmp_path)]) == 2
    assert f"{tmp_path}: has no train.txt and test.txt" in capsys.readouterr().err
    monkeypatch.setenv("PATH", str(tmp_path))  # no git there
    assert main([*BENCH, "numpy", "--asv", str(tmp_path / "results")]) == 2
    assert "--asv needs a git checkout" in capsys.readouterr().err
