"""The commands about data and parameters: summarize --html, tune, verify, datasets, twin."""

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNClassifier, read_xmc, write_names, write_xmc
from swnn_xp.cli.main import main
from swnn_xp.datasets import make_twin
from swnn_xp.progress import ProgressLine
from swnn_xp.tuning import Split, tune


@pytest.fixture
def train(tmp_path):
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 20), density=0.3, rng=rng, format="csr", dtype=np.float32)
    write_xmc(tmp_path / "train.txt", X, sp.csr_array(X[:, :6].astype(bool)))
    write_names(tmp_path / "label_map.txt", [f"tag-{i}" for i in range(6)])
    return tmp_path / "train.txt"


def test_summarize_writes_a_page(train, capsys):
    page = train.parent / "page.html"
    assert main(["summarize", str(train), "--html", str(page)]) == 0
    text = page.read_text()
    assert f"<title>{train.parent.name}/train.txt</title>" in text
    assert '"tag-5"' in text
    assert "labels per row" in capsys.readouterr().out


def test_tune_writes_parameters_that_fit_takes(train, capsys):
    best, model = train.parent / "best.toml", train.parent / "model"
    assert main(["tune", str(train), "-o", str(best), "--metric", "P@3", "--seed", "4"]) == 0
    out = capsys.readouterr().out
    expected = tune(*read_xmc(train), metric="P@3", split=Split(seed=4))
    (marked,) = [line.split() for line in out.splitlines() if line.startswith("->")]
    assert [float(text) for text in marked[1:4]] == list(expected.best.setting)
    assert marked[4] == f"{100 * expected.best.score:.2f}"
    assert main(["fit", str(train), "--params", str(best), "-o", str(model)]) == 0
    clf = SWNNClassifier.load(model)
    assert (clf.n_neighbors, clf.alpha, clf.beta) == expected.best.setting


def test_what_is_given_beside_the_file_wins(train):
    (train.parent / "p.toml").write_text("n_neighbors = 9\nalpha = 2\n")
    args = ["fit", str(train), "--params", str(train.parent / "p.toml"), "--alpha", "0.5"]
    assert main([*args, "-o", str(train.parent / "m")]) == 0
    clf = SWNNClassifier.load(train.parent / "m")
    assert (clf.n_neighbors, clf.alpha, clf.beta) == (9, 0.5, 1.0)


def test_tune_plots_as_html(train):
    plot = train.parent / "plot.html"
    assert main(["tune", str(train), "--wide", "--folds", "2", "--plot", str(plot)]) == 0
    assert plot.read_text().count('class="cell"') == 140


def test_tune_plots_as_png(train):
    pytest.importorskip("matplotlib", reason="left out: matplotlib is not installed")
    plot = train.parent / "plot.png"
    assert main(["tune", str(train), "--plot", str(plot)]) == 0
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_ctrl_c_prints_what_is_done(train, capsys, monkeypatch):
    def interrupted(self, done):
        raise KeyboardInterrupt

    monkeypatch.setattr(ProgressLine, "show", interrupted)
    best = train.parent / "best.toml"
    assert main(["tune", str(train), "--holdout", "280", "-o", str(best)]) == 0
    out = capsys.readouterr().out
    assert "256 rows, held out at random" in out
    assert "stopped: 24 rows were not asked" in out
    assert best.read_text().startswith("# P@1 = ")


def test_verify(train, capsys):
    model = train.parent / "model"
    assert main(["fit", str(train), "-o", str(model)]) == 0
    capsys.readouterr()
    assert main(["verify", str(model)]) == 0
    assert "sound" in capsys.readouterr().out
    victim = next(path for path in model.rglob("*.npy") if path.stat().st_size > 200)
    damaged = bytearray(victim.read_bytes())
    damaged[-1] ^= 1
    victim.write_bytes(damaged)
    assert main(["verify", str(model)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert victim.name in err


def test_datasets(tmp_path, capsys):
    twin = make_twin("Wiki10-31K", scale=0.01)
    folder = tmp_path / "Wiki10-31K"
    folder.mkdir()
    write_xmc(folder / "train.txt", twin.X_train, twin.y_train)
    write_xmc(folder / "test.txt", twin.X_test, twin.y_test)
    assert main(["datasets", "--data", str(tmp_path)]) == 0
    lines = {
        line.split()[0].rstrip("*"): line for line in capsys.readouterr().out.splitlines() if line
    }
    assert lines["Wiki10-31K"].endswith(str(folder))
    assert lines["Amazon-670K"].endswith("not found")
    assert "490,449" in lines["Amazon-670K"]
    assert lines["debtags"].endswith("in the package")


def test_twin(tmp_path, capsys):
    out = tmp_path / "deep" / "twin"
    args = ["twin", "wiki10", "--scale", "0.01", "--seed", "3", "-o", str(out)]
    assert main(args) == 0
    assert "train.txt: 141 rows" in capsys.readouterr().out
    expected = make_twin("Wiki10-31K", 0.01, 3)
    for part in ("train", "test"):
        X, Y = read_xmc(out / f"{part}.txt", strict=True)
        assert (X != getattr(expected, f"X_{part}")).nnz == 0
        assert (Y != getattr(expected, f"y_{part}").astype(bool)).nnz == 0
    assert "Synthetic" in (out / "SYNTHETIC.txt").read_text()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["tune", "{train}", "--metric", "F1"], "metric must be"),
        (["tune", "{train}", "--holdout", "300"], "leaves no row"),
        (["tune", "{train}", "--plot", "map.gif"], "must end in .html or .png"),
        (["fit", "{train}", "-o", "m", "--params", "{train}"], "not TOML"),
        (["fit", "{train}", "-o", "m", "--params", "{odd}"], "no parameter 'gamma'"),
        (["fit", "{train}", "-o", "m", "--params", "{text}"], "alpha must be a number"),
        (["datasets", "--data", "nowhere"], "nowhere: no such folder"),
        (["twin", "mnist", "-o", "x"], "no twin of 'mnist'"),
        (["twin", "wiki10", "--scale", "0", "-o", "x"], "scale must be"),
        (["verify", "nowhere"], "nowhere"),
        (["reproduce", "mnist"], "no data set 'mnist'"),
        (["summarize", "{train}", "--label-map", "{odd}", "--html", "p"], "label_names has"),
    ],
)
def test_bad_input_gets_one_clear_line(train, capsys, monkeypatch, args, message):
    monkeypatch.chdir(train.parent)
    (train.parent / "odd.toml").write_text("gamma = 1\n")
    (train.parent / "text.toml").write_text('alpha = "1"\n')
    places = {"train": train, "odd": train.parent / "odd.toml", "text": train.parent / "text.toml"}
    assert main([arg.format(**places) for arg in args]) == 2
    err = capsys.readouterr().err
    assert err.startswith("swnn: error: ")
    assert message in err
    assert err.count("\n") == 1
    assert not (train.parent / "m").exists()
    assert not (train.parent / "p").exists()


@pytest.mark.parametrize(
    "command", ["tune", "summarize", "datasets", "twin", "verify", "reproduce"]
)
def test_help(command, capsys):
    with pytest.raises(SystemExit) as exit:
        main([command, "--help"])
    assert exit.value.code == 0
    assert f"usage: swnn {command}" in capsys.readouterr().out
