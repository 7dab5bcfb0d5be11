"""Learned models from the command line: made, asked, explained, verified, tuned, refused."""

import json
import subprocess
import sys

import numba
import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import (
    LearnedWeights,
    SWNNClassifier,
    SWNNRanker,
    load,
    read_xmc,
    write_names,
    write_xmc,
)
from swnn_xp.cli.fit import _timed
from swnn_xp.cli.main import main
from swnn_xp.store import StoreError, open_arrays, save_arrays

LABELS = ["red", "green", "blue", "a b", "ø"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learning")
    rng = np.random.default_rng(0)
    X = sp.random_array((160, 20), density=0.3, rng=rng, format="csr", dtype=np.float32)
    Y = sp.csr_array((X @ rng.random((20, 5)) > 1.6).astype(np.int8))
    write_xmc(folder / "train.txt", X, Y)
    write_xmc(folder / "test.txt", X[:9], Y[:9])
    write_names(folder / "label_map.txt", LABELS)
    return folder


@pytest.fixture(scope="module")
def ranked(files):
    train = str(files / "train.txt")
    given = ["-S", "11", "--candidates", "4", "--C", "0.5", "--vote-weight", "0.7", "--seed", "3"]
    assert main(["fit", train, "-o", str(files / "ranked"), "--learn", "ranking", *given]) == 0
    return files / "ranked"


@pytest.fixture(scope="module")
def weighted(files):
    train = str(files / "train.txt")
    given = ["-S", "9", "--beta", "0.5", "--seed", "2"]
    assert main(["fit", train, "-o", str(files / "weighted"), "--learn", "weights", *given]) == 0
    return files / "weighted"


def predicted(model, files, capsys):
    capsys.readouterr()
    assert main(["predict", str(model), str(files / "test.txt"), "--format", "jsonl"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def same(records, clf, X):
    best = clf.predict_topk(X, k=5)
    assert [record["labels"] for record in records] == [
        labels[labels >= 0].tolist() for labels in best.labels
    ]
    assert [record["scores"] for record in records] == [
        scores[labels >= 0].tolist() for labels, scores in zip(*best, strict=True)
    ]


def test_a_ranker_is_that_of_python(files, ranked, capsys):
    X, Y = read_xmc(files / "train.txt")
    expected = SWNNRanker(11, n_candidates=4, C=0.5, vote_weight=0.7, random_state=3).fit(X, Y)
    loaded = load(ranked)
    assert loaded.get_params() == expected.get_params()
    assert (loaded.n_neighbors_, loaded.n_candidates_, loaded.C_) == (11, 4, 0.5)
    same(predicted(ranked, files, capsys), expected, X[:9])


def test_feature_weights_are_those_of_python(files, weighted, capsys):
    X, Y = read_xmc(files / "train.txt")
    weights = LearnedWeights(beta=0.5, random_state=2).fit(X, Y)
    expected = SWNNClassifier(9, beta=0.5).fit(X, Y, feature_weights=weights.feature_weights_)
    assert np.array_equal(load(weighted).feature_weights_, weights.feature_weights_)
    same(predicted(weighted, files, capsys), expected, X[:9])


def test_without_feature_weights(files, capsys):
    train, made = str(files / "train.txt"), str(files / "made")
    assert main(["fit", train, "-o", made, "--learn", "ranking", "--no-feature-weights"]) == 0
    assert "trained" in capsys.readouterr().out
    assert load(made).feature_weights_ is None
    assert load(made).n_neighbors == "auto"


def test_fit_prints_where_the_time_went(files, capsys):
    train, made = str(files / "train.txt"), str(files / "made")
    for options, words in (
        ([], ["read", "indexed", "saved"]),
        (["--learn", "weights"], ["read", "learned", "indexed", "saved"]),
        (["--learn", "ranking"], ["read", "trained", "saved"]),
    ):
        assert main(["fit", train, "-o", made, *options]) == 0
        times = capsys.readouterr().out.splitlines()[1]
        assert [part.split()[0] for part in times.split(", ")] == words


def test_evaluate_tells_kind_and_parameters(files, ranked, weighted, capsys):
    test = str(files / "test.txt")
    assert main(["evaluate", str(ranked), test, "--backend", "numpy"]) == 0
    head = capsys.readouterr().out.splitlines()[0]
    assert head == (
        "9 rows; ranking, S = 11, alpha = 1, beta = 1, K = 4, C = 0.5, vote weight = 0.7, "
        "backend numpy"
    )
    assert main(["evaluate", str(weighted), test]) == 0
    out = capsys.readouterr().out
    assert out.startswith("9 rows; weights, S = 9, alpha = 1, beta = 0.5, backend numba\n")
    assert "latency  mean" in out


def test_explain_shows_the_two_parts(files, ranked, capsys):
    capsys.readouterr()
    assert main(["explain", str(ranked), str(files / "test.txt"), "--row", "0", "-k", "1"]) == 0
    head, model, *voters = capsys.readouterr().out.splitlines()
    assert head.split(":")[0] in LABELS
    assert head.endswith(" model")
    assert " vote " in head
    assert model.startswith("  model: bias ")
    assert voters
    assert all("similarity" in voter or voter.endswith(" more") for voter in voters)
    ask = ["explain", str(ranked), str(files / "test.txt"), "--row", "0", "-k", "1", "--all"]
    assert main(ask) == 0
    _, whole, *every = capsys.readouterr().out.splitlines()
    features = len(whole.split(", ")) - 1
    assert len(model.split(", ")) - 1 == min(features, 9)
    assert (" more " in model) == (features > 8)
    assert len(voters) == min(len(every), 6)
    assert all("similarity" in voter for voter in every)


def test_predict_resumes_nothing_of_another_model(files, ranked, weighted, capsys):
    """The journal of a prediction tells ranked models apart; "auto" is no obstacle."""
    out, train = files / "labels.tsv", str(files / "train.txt")
    auto = str(files / "auto")
    assert main(["fit", train, "-o", auto, "--learn", "ranking"]) == 0
    for model in (ranked, auto):
        assert main(["predict", str(model), str(files / "test.txt"), "-o", str(out)]) == 0
        text = out.read_text()
        capsys.readouterr()
        assert main(["predict", str(model), str(files / "test.txt")]) == 0
        assert text == capsys.readouterr().out


def test_verify(files, ranked, weighted, capsys):
    for model in (ranked, weighted):
        assert main(["verify", str(model)]) == 0
        assert "sound; " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("array", "change", "message"),
    [
        ("learned_features", lambda a: a + 100, "the ranker's features"),
        ("learned_indptr", lambda a: a[::-1], "the ranker's indptr"),
        ("learned_tables", lambda a: a[:-1], "the ranker's arrays do not fit together"),
        ("learned_weights", lambda a: a.astype(np.int32), "the ranker's weights"),
        ("feature_weights", lambda a: a * 0, "feature_weights must be"),
    ],
)
def test_verify_refuses_what_no_training_gives(ranked, tmp_path, capsys, array, change, message):
    """All checksums are right, but a number is not."""
    stored = open_arrays(ranked)
    arrays = {name: np.array(stored.arrays[name]) for name in stored.arrays}
    arrays[array] = np.ascontiguousarray(change(arrays[array]))
    save_arrays(tmp_path / "forged", arrays, stored.meta, stored.names)
    capsys.readouterr()
    assert main(["verify", str(tmp_path / "forged")]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err
    with pytest.raises(StoreError, match=message):
        load(tmp_path / "forged", verify=True)


def test_tuned_parameters_go_into_fit(files, capsys, monkeypatch):
    from swnn_xp.tuning import RankingSetting, ranking

    grid = [RankingSetting("auto", "auto", "auto"), RankingSetting(7, 0.2, 0.5)]
    monkeypatch.setattr(ranking, "ranking_grid", lambda: grid)
    train, best, made = (str(files / name) for name in ("train.txt", "best.toml", "made"))
    assert main(["tune", train, "--learn", "ranking", "--folds", "2", "-o", best]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["S", "C", "vote", "weight", "P@1", "%", "std", "over", "folds"]
    assert [line for line in lines if "auto" in line]
    assert lines[-1].startswith("160 rows, 2 folds at random; neighbours ")
    assert main(["fit", train, "--params", best, "-o", made]) == 0
    chosen = load(made)
    setting = chosen.n_neighbors, chosen.C, chosen.vote_weight
    assert setting in grid
    assert main(["fit", train, "--params", best, "-o", made, "--C", "0.9"]) == 0
    assert load(made).C == 0.9


TRAIN = "{train}"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["fit", TRAIN, "-o", "m", "--candidates", "5"], "--candidates needs --learn ranking"),
        (["fit", TRAIN, "-o", "m", "--C", "1"], "--C needs --learn ranking"),
        (["fit", TRAIN, "-o", "m", "--vote-weight", "1"], "--vote-weight needs --learn ranking"),
        (["fit", TRAIN, "-o", "m", "--no-feature-weights"], "--no-feature-weights needs --learn"),
        (["fit", TRAIN, "-o", "m", "--seed", "1"], "--seed needs --learn weights or --learn rank"),
        (["fit", TRAIN, "-o", "m", "--learn", "weights", "--C", "1"], "--C needs --learn ranking"),
        (["fit", TRAIN, "-o", "m", "--learn", "ranking", "--C", "0"], "C must be above 0"),
        (["fit", TRAIN, "-o", "m", "--learn", "ranking", "--C", "nan"], "C must be a number"),
        (["fit", TRAIN, "-o", "m", "--learn", "ranking", "-S", "0"], "n_neighbors must be"),
        (["fit", TRAIN, "-o", "m", "--learn", "ranking", "--candidates", "0"], "n_candidates must"),
        (["fit", TRAIN, "-o", "m", "--learn", "weights", "--seed", "-1"], "random_state must be"),
        (
            ["fit", TRAIN, "-o", "m", "--learn", "weights", "--params", "{ranking}"],
            "is for --learn",
        ),
        (["fit", TRAIN, "-o", "m", "--params", "{half}"], "C needs --learn ranking"),
        (["fit", TRAIN, "-o", "m", "--params", "{odd}"], "learn must be 'weights' or 'ranking'"),
        (["fit", TRAIN, "-o", "m", "--params", "{list}"], "learn must be 'weights' or 'ranking'"),
        (["fit", TRAIN, "-o", "m", "--params", "{word}"], "alpha must be a number"),
        (["tune", TRAIN, "--learn", "ranking", "--wide"], "--wide is not for --learn ranking"),
        (["tune", TRAIN, "--learn", "ranking", "--plot", "p.html"], "--plot is not for --learn"),
        (["tune", TRAIN, "--learn", "ranking", "--metric", "x"], "metric must be"),
        (["predict", "{ranked}", TRAIN, "-S", "5"], "n_neighbors=5, but the ranker was trained"),
        (["evaluate", "{ranked}", TRAIN, "--alpha", "2"], "alpha=2.0, but the ranker was trained"),
        (["explain", "{ranked}", TRAIN, "--row", "0", "--beta", "0"], "beta=0.0, but the ranker"),
    ],
)
def test_what_makes_no_sense_gets_one_clear_line(files, ranked, capsys, args, message):
    texts = {
        "ranking": 'learn = "ranking"\nC = 0.2\n',
        "half": "C = 0.2\n",
        "odd": 'learn = "much"\n',
        "list": "learn = []\n",
        "word": 'learn = "ranking"\nalpha = "auto"\n',
    }
    places = {"train": files / "train.txt", "ranked": ranked}
    for name, text in texts.items():
        places[name] = files / f"{name}.toml"
        places[name].write_text(text)
    capsys.readouterr()
    assert main([arg.format(**places) for arg in args]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("swnn: error: ")
    assert message in err
    assert err.count("\n") == 1


def test_the_command_line_does_not_wait_for_numba():
    """Only learning needs the kernels: `swnn --help` must stay fast, and run without numba."""
    code = "import sys, swnn_xp.cli.main as m; m.make_parser(); print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_compiling_is_no_part_of_a_step():
    times = {}
    with _timed(times, "read"):
        numba.njit(lambda x: x + 1)(1)
    with _timed(times, "indexed"):
        pass
    assert list(times) == ["read", "indexed", "compiled"]
    assert times["compiled"] > 10 * times["indexed"]
    assert times["read"] < times["compiled"]
