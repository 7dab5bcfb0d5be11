"""Ranked models in files: what comes back is what was saved; what was forged is refused."""

import json

import numpy as np
import pytest
from learn.problems import digest, rows_and_labels

import swnn_xp
from swnn_xp import SWNNClassifier, SWNNRanker
from swnn_xp.cli.main import main
from swnn_xp.store import StoreError, open_arrays, save_arrays

X, Y = rows_and_labels()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a model of every kind."""
    path = tmp_path_factory.mktemp("models")
    for backend in ("numba", "numpy"):
        SWNNRanker(n_neighbors=9, backend=backend).fit(X, Y).save(path / backend)
    SWNNRanker(n_neighbors=9, learn_weights=False).fit(X, Y).save(path / "unweighted")
    SWNNClassifier(9).fit(X, Y).save(path / "published")
    weights = swnn_xp.LearnedWeights(9).fit(X, Y).feature_weights_
    SWNNClassifier(9).fit(X, Y, feature_weights=weights).save(path / "weights")
    return path


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("backend", ["auto", "numba", "numpy", "array-api"])
@pytest.mark.parametrize("kind", ["numba", "numpy", "unweighted", "published", "weights"])
def test_round_trip(folder, tmp_path, kind, backend, mmap):
    first = swnn_xp.load(folder / kind)
    again = swnn_xp.load(folder / kind, mmap=mmap, verify=True, backend=backend)
    again.save(tmp_path)
    for other in (again, swnn_xp.load(tmp_path, mmap=mmap)):
        assert type(other) is type(first)
        for mine, its in zip(first.predict_topk(X, 9), other.predict_topk(X, 9), strict=True):
            np.testing.assert_array_equal(mine, its)
        assert other.explain(X[0], 1) == first.explain(X[0], 1)
        if isinstance(first, SWNNRanker):
            assert digest(other) == digest(first)
            assert (other.C_, other.candidate_recall_) == (first.C_, first.candidate_recall_)


def test_a_changed_model_is_saved_whole(tmp_path):
    clf = SWNNRanker(n_neighbors=9).fit(X[:60], Y[:60])
    clf.partial_fit(X[60:], np.hstack([Y[60:], np.ones((20, 2))])).remove([3, 70]).save(tmp_path)
    again = swnn_xp.load(tmp_path, verify=True)
    assert again.n_labels_ == 9
    assert again.model_.ranking.ranker.modelled.size == 7
    for mine, its in zip(clf.predict_topk(X), again.predict_topk(X), strict=True):
        np.testing.assert_array_equal(mine, its)


def test_estimators_do_not_open_each_others_models(folder):
    with pytest.raises(StoreError, match="holds a 'swnn-ranker', not a swnn-classifier"):
        SWNNClassifier.load(folder / "numba")
    with pytest.raises(StoreError, match="holds a 'swnn-classifier', not a swnn-ranker"):
        SWNNRanker.load(folder / "published")


def test_unknown_kinds_and_folders(folder, tmp_path):
    model = open_arrays(folder / "numba")
    save_arrays(tmp_path / "other", model.arrays, model.meta | {"kind": "swnn-oracle"})
    with pytest.raises(StoreError, match="holds a 'swnn-oracle', which this version does not know"):
        swnn_xp.load(tmp_path / "other")
    with pytest.raises(StoreError, match="manifest"):
        swnn_xp.load(tmp_path)
    (tmp_path / "manifest.json").write_text(json.dumps({"format": "something else"}))
    with pytest.raises(StoreError, match="manifest"):
        swnn_xp.load(tmp_path)
    with pytest.raises(ValueError, match="no parameter 'depth'"):
        swnn_xp.load(folder / "numba", depth=3)


def changed(array, at, value):
    array = array.copy()
    array[at] = value
    return array


def forged_arrays(name):
    """Name of an array, how to forge it, and what the refusal says."""
    return {
        "a feature beyond the last": ("features", lambda a: changed(a, -1, 15), r"in 0\.\.14"),
        "a negative feature": ("features", lambda a: changed(a, 0, -1), r"in 0\.\.14"),
        "features out of order": ("features", lambda a: changed(a, 1, a[0]), "must ascend"),
        "features too short": ("features", lambda a: a[:-1].copy(), "must rise from 0"),
        "features of another type": ("features", lambda a: a.astype(np.int64), "int32"),
        "weights too short": ("weights", lambda a: a[:-1].copy(), "do not fit together"),
        "weights too long": ("weights", lambda a: np.append(a, a), "do not fit together"),
        "weights of another type": ("weights", lambda a: a.astype(np.float32), "int16"),
        "weights of another shape": ("weights", lambda a: a[None], "int16"),
        "pointers that fall": ("indptr", lambda a: changed(a, 2, 10**9), "must rise from 0"),
        "pointers that start late": ("indptr", lambda a: changed(a, 0, 1), "must rise from 0"),
        "negative pointers": ("indptr", lambda a: changed(a, 1, -5), "must rise from 0"),
        "no pointers": ("indptr", lambda a: a[:0].copy(), "row of int64"),
        "too few pointers": ("indptr", lambda a: np.delete(a, 1), "do not fit together"),
        "biases too short": ("biases", lambda a: a[:-1].copy(), "do not fit together"),
        "biases of another type": ("biases", lambda a: a.astype(float), "int64"),
        "marks too short": ("modelled", lambda a: a[:-1].copy(), "do not fit together"),
        "marks of another type": ("modelled", lambda a: a.astype(bool), "uint8"),
        "tables too short": ("tables", lambda a: a[:-1].copy(), "do not fit together"),
        "tables too long": ("tables", lambda a: np.append(a, a), "do not fit together"),
        "tables of another shape": ("tables", lambda a: a.reshape(2, -1), "row of int64"),
    }[name]


ARRAY_FORGERIES = (
    "a feature beyond the last", "a negative feature", "features out of order",
    "features too short", "features of another type", "weights too short", "weights too long",
    "weights of another type", "weights of another shape", "pointers that fall",
    "pointers that start late", "negative pointers", "no pointers", "too few pointers",
    "biases too short", "biases of another type", "marks too short", "marks of another type",
    "tables too short", "tables too long", "tables of another shape",
)  # fmt: skip


@pytest.mark.parametrize("what", ARRAY_FORGERIES)
def test_forged_arrays_are_refused_before_they_are_used(folder, tmp_path, capsys, what):
    name, forge, message = forged_arrays(what)
    model = open_arrays(folder / "numba")
    forged = forge(model.arrays[f"learned_{name}"])
    save_arrays(tmp_path, model.arrays | {f"learned_{name}": forged}, model.meta)
    for backend in ("numba", "numpy"):
        clf = swnn_xp.load(tmp_path, backend=backend)
        for call in (clf.predict_topk, clf.predict_proba, lambda Q: clf.explain(Q[:1], 0)):  # noqa: B023
            with pytest.raises(ValueError, match=message):
                call(X)
    with pytest.raises(ValueError, match=message):
        swnn_xp.load(tmp_path).session()
    with pytest.raises(StoreError, match=message):
        swnn_xp.load(tmp_path, verify=True)
    assert main(["verify", str(tmp_path)]) != 0
    assert "Traceback" not in capsys.readouterr().err


_ARRAYS = "indptr", "features", "weights", "biases", "modelled", "tables", "label_rows"


@pytest.mark.parametrize("name", _ARRAYS)
def test_missing_arrays_are_refused(folder, tmp_path, name):
    model = open_arrays(folder / "numba")
    arrays = {key: array for key, array in model.arrays.items() if key != f"learned_{name}"}
    save_arrays(tmp_path, arrays, model.meta)
    with pytest.raises(StoreError, match=f"manifest.json: missing or invalid field '{name}'"):
        swnn_xp.load(tmp_path)


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    """Folders of a ranker and a classifier with calibrated probabilities."""
    path = tmp_path_factory.mktemp("calibrated")
    many, truth = np.vstack([X] * 3), np.vstack([Y] * 3)
    SWNNRanker(n_neighbors=9).fit(many, truth).save(path / "ranker")
    SWNNClassifier(9, calibrate=True).fit(many, truth).save(path / "votes")
    return path


CALIBRATIONS = {
    "values too short": ("values", lambda a: a[:-1].copy(), "one value more than ends"),
    "values of another type": ("values", lambda a: a.astype(np.float32), "rows of float64"),
    "values of another shape": ("values", lambda a: a[None], "rows of float64"),
    "a value above 1": ("values", lambda a: changed(a, -1, 1.5), "lie in 0..1"),
    "a value below 0": ("values", lambda a: changed(a, 0, -0.1), "lie in 0..1"),
    "values that fall": ("values", lambda a: a[::-1].copy(), "never fall"),
    "no number": ("values", lambda a: changed(a, 0, np.nan), "lie in 0..1"),
    "ends that fall": ("ends", lambda a: a[::-1].copy(), "must be finite and ascend"),
    "an infinite end": ("ends", lambda a: changed(a, -1, np.inf), "must be finite and ascend"),
    "ends too long": ("ends", lambda a: np.append(a, 9.0), "one value more than ends"),
}


@pytest.mark.parametrize("kind", ["ranker", "votes"])
@pytest.mark.parametrize("what", CALIBRATIONS)
def test_forged_calibrations_are_refused(calibrated, tmp_path, kind, what):
    name, forge, message = CALIBRATIONS[what]
    model, key = open_arrays(calibrated / kind), f"learned_calibration_{name}"
    save_arrays(tmp_path, model.arrays | {key: forge(model.arrays[key])}, model.meta)
    with pytest.raises(StoreError, match=message):
        swnn_xp.load(tmp_path)


@pytest.mark.parametrize("threshold", [None, "f1", True, [1.0]])
def test_forged_thresholds_are_refused(calibrated, tmp_path, threshold):
    model = open_arrays(calibrated / "ranker")
    extra = dict(model.meta["extra"]) | {"threshold": threshold}
    save_arrays(tmp_path, model.arrays, model.meta | {"extra": extra})
    with pytest.raises(StoreError, match="threshold"):
        swnn_xp.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "forge", "message"),
    [
        ("label_rows", lambda a: a[:-1].copy(), "one int64 for each label"),
        ("label_rows", lambda a: a.astype(np.int32), "one int64 for each label"),
        ("label_rows", lambda a: changed(a, 0, -1), "counts of rows"),
        ("label_next_ids", lambda a: changed(a, 0, 2**62), "counts of rows"),
    ],
)
def test_forged_counts_are_refused(folder, tmp_path, name, forge, message):
    model, key = open_arrays(folder / "numba"), f"learned_{name}"
    save_arrays(tmp_path, model.arrays | {key: forge(model.arrays[key])}, model.meta)
    with pytest.raises(StoreError, match=message):
        swnn_xp.load(tmp_path)


@pytest.mark.parametrize(
    "forge",
    [
        lambda a: a[:-1].copy(),
        lambda a: np.append(a, a),
        lambda a: a[None],
        lambda a: a.astype(np.int32),
        lambda a: changed(a, 0, 0),
        lambda a: changed(a.astype(np.float64), 0, np.nan),
    ],
)
def test_forged_values_are_refused_when_needed(folder, tmp_path, forge):
    model = open_arrays(folder / "numba")
    save_arrays(tmp_path, model.arrays | {"values": forge(model.arrays["values"])}, model.meta)
    clf = swnn_xp.load(tmp_path)
    clf.predict_topk(X)
    for labels in ([0], "all"):
        with pytest.raises(ValueError, match="values must be one number other than 0"):
            clf.relearn(labels)
    with pytest.raises(StoreError, match="values must be one number other than 0"):
        swnn_xp.load(tmp_path, verify=True)


def test_a_model_without_the_values_of_its_rows_opens_and_says_so(folder, tmp_path):
    model = open_arrays(folder / "numba")
    gone = ("values", "learned_neighbour_rows", "learned_neighbours")
    arrays = {key: array for key, array in model.arrays.items() if key not in gone}
    save_arrays(tmp_path, arrays, model.meta)
    clf = swnn_xp.load(tmp_path, verify=True)
    clf.predict_topk(X)
    clf.predict(X)
    assert not clf.staleness_.labels.size
    for labels in ([0], "all"):
        with pytest.raises(ValueError, match="does not hold the values of its rows"):
            clf.relearn(labels)
    clf.partial_fit(X[:2], Y[:2]).compact().save(tmp_path / "again")
    assert swnn_xp.load(tmp_path / "again").n_samples_fit_ == 82


def test_info(folder, tmp_path, capsys):
    clf = swnn_xp.load(folder / "numba").partial_fit(X[:3], np.eye(3, 9)).remove([5])
    clf.save(tmp_path)
    assert main(["info", str(tmp_path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["kind"], facts["rows"], facts["labels"]) == ("ranking", 82, 9)
    assert facts["staleness"]["rows added"] == 3
    assert facts["staleness"]["rows removed"] == 1
    assert facts["staleness"]["stale labels"] == clf.staleness_.labels.size
    assert main(["info", str(tmp_path)]) == 0
    assert "  feature weights used  search" in capsys.readouterr().out
    assert main(["info", str(folder / "published")]) == 0
    assert "kind                    published" in capsys.readouterr().out


@pytest.mark.parametrize("value", [np.nan, -1.0, 0.0, np.inf])
def test_forged_feature_weights(folder, tmp_path, value):
    model = open_arrays(folder / "numba")
    g = changed(model.arrays["feature_weights"], 3, value)
    for forged in (g, g[:-1].copy(), np.ones(15, np.float32), np.ones((15, 1))):
        save_arrays(tmp_path, model.arrays | {"feature_weights": forged}, model.meta)
        with pytest.raises(StoreError, match="feature_weights must be one positive number"):
            swnn_xp.load(tmp_path)


META = [
    {"cuts": []}, {"cuts": [0, 5]}, {"cuts": [5, 5]}, {"cuts": [9, 3]}, {"cuts": [2**31]},
    {"cuts": "abc"}, {"cuts": 5}, {"cuts": None}, {"cuts": [True]}, {"cuts": [1.5]},
    {"n_candidates": 0}, {"n_candidates": 8}, {"n_candidates": 2**31 - 1}, {"n_candidates": -1},
    {"n_candidates": "7"}, {"n_candidates": 2**70},
    {"shift": -1}, {"shift": "1"}, {"shift": 2**40},
    {"alpha": -1}, {"alpha": 10**400}, {"alpha": None},
    {"beta": True}, {"beta": [1]}, {"recall": "much"},
    {"rule": []}, {"rule": {}}, {"rule": {"C": 1}}, {"rule": "rule"}, {"rule": None},
    {"rule": {"C": 1, "vote_weight": 1, "missed": 0, "more": 1}},
    {"rule": {"C": "1", "vote_weight": 1, "missed": 0}},
]  # fmt: skip


@pytest.mark.parametrize("forged", META, ids=str)
def test_forged_numbers_are_refused(folder, tmp_path, forged):
    model = open_arrays(folder / "numba")
    extra = dict(model.meta["extra"]) | forged
    save_arrays(tmp_path, model.arrays, model.meta | {"extra": extra})
    with pytest.raises(StoreError, match="manifest.json"):
        swnn_xp.load(tmp_path)


@pytest.mark.parametrize(
    ("kind", "extra"),
    [("numba", {})]
    + [(kind, extra) for kind in ("numba", "published") for extra in (None, [], "x", 3)],
)
def test_forged_records_are_refused(folder, tmp_path, kind, extra):
    model = open_arrays(folder / kind)
    save_arrays(tmp_path, model.arrays, model.meta | {"extra": extra})
    with pytest.raises(StoreError, match="manifest.json"):
        swnn_xp.load(tmp_path)


@pytest.mark.parametrize(
    "forged",
    [{"shift": 63}, {"shift": 16}, {"cuts": [9]}, {"cuts": [1, 2, 3, 9]}],
    ids=str,
)
def test_forged_numbers_that_arrays_contradict(folder, tmp_path, forged):
    model = open_arrays(folder / "numba")
    save_arrays(tmp_path, model.arrays, model.meta | {"extra": dict(model.meta["extra"]) | forged})
    with pytest.raises(ValueError, match="do not fit together"):
        swnn_xp.load(tmp_path).predict_topk(X)
    with pytest.raises(StoreError, match="do not fit together"):
        swnn_xp.load(tmp_path, verify=True)


def test_a_ranker_of_more_labels_than_the_model_is_refused(folder, tmp_path):
    model = open_arrays(folder / "numba")
    names = [f"learned_{name}" for name in ("indptr", "biases", "modelled")]
    wider = {name: np.append(model.arrays[name], model.arrays[name][-1]) for name in names}
    save_arrays(tmp_path, model.arrays | wider, model.meta)
    with pytest.raises(StoreError, match="more labels than the model"):
        swnn_xp.load(tmp_path)


def test_forged_numbers_that_do_no_harm(folder, tmp_path):
    """The last cut is the number of neighbours: of 80 rows, whatever it says."""
    model = open_arrays(folder / "numba")
    for forged in ({"cuts": [5, 2**31 - 1]}, {"alpha": 1e308}, {"beta": 1e308}, {"recall": 7}):
        extra = dict(model.meta["extra"]) | forged
        save_arrays(tmp_path, model.arrays, model.meta | {"extra": extra})
        for backend in ("numba", "numpy"):
            clf = swnn_xp.load(tmp_path, verify=True, backend=backend)
            with np.errstate(all="ignore"):
                assert clf.predict_topk(X).labels.shape == (80, 5)
                assert clf.predict_proba(X).shape == (80, 7)
        at = np.flatnonzero(X[0])
        assert swnn_xp.load(tmp_path).session().predict_one(at, X[0, at]).labels.shape == (5,)


def test_extreme_integers_do_no_harm(folder, tmp_path):
    model = open_arrays(folder / "numba")
    extremes = np.asarray([2**63 - 1, -(2**63), 0], np.int64)
    for name in ("biases", "tables"):
        key = f"learned_{name}"
        forged = np.resize(extremes, model.arrays[key].shape)
        save_arrays(tmp_path, model.arrays | {key: forged}, model.meta)
        labels = [
            swnn_xp.load(tmp_path, verify=True, backend=backend).predict_topk(X, 7).labels
            for backend in ("numba", "numpy")
        ]
        assert labels[0].shape == labels[1].shape == (80, 7)


def test_verify_says_what_a_sound_model_holds(folder, capsys):
    for kind in ("numba", "numpy", "unweighted", "published", "weights"):
        assert main(["verify", str(folder / kind)]) == 0
        assert "80 rows, 15 features, 7 labels" in capsys.readouterr().out
