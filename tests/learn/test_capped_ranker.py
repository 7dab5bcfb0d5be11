"""How a ranker searches: what is chosen where it is left to the data, and what is kept of it."""

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNRanker, load, write_xmc
from swnn_xp.cli.main import main
from swnn_xp.learn import settings, train

RNG = np.random.default_rng(6)
X = sp.random_array((6000, 80), density=0.1, rng=RNG, format="csr")
Y = sp.csr_array((X @ (RNG.random((80, 9)) < 0.1) > 0.9).astype(np.int8))


def test_few_rows_are_searched_exactly(tmp_path):
    clf = SWNNRanker(n_neighbors=9).fit(X[:500], Y[:500])
    assert (clf.search_, clf.cap_cost_) == ("exact", None)
    clf.save(tmp_path / "m")
    assert load(tmp_path / "m").search_ == "exact"


@pytest.mark.parametrize(("allowed", "chosen"), [(1e9, 40), (-1e9, "exact")])
def test_held_out_rows_decide_where_rows_are_many(monkeypatch, tmp_path, capsys, allowed, chosen):
    monkeypatch.setattr(settings, "_MANY_ROWS", 5000)
    monkeypatch.setattr(settings, "_POSTINGS", 40)
    monkeypatch.setattr(train, "_CAP_COST", allowed)
    clf = SWNNRanker(n_neighbors=5, n_candidates=5).fit(X, Y)
    assert clf.search_ == chosen
    assert clf.cap_cost_ is not None
    assert abs(clf.cap_cost_) < 100
    if chosen != "exact":  # else a cap served to learn feature weights, and no more
        same = SWNNRanker(n_neighbors=5, n_candidates=5, search=chosen).fit(X, Y)
        for mine, its in zip(clf.kneighbors(X[:50]), same.kneighbors(X[:50]), strict=True):
            np.testing.assert_array_equal(mine, its)
    clf.save(tmp_path / "m")
    opened = load(tmp_path / "m")
    assert (opened.search_, opened.cap_cost_) == (chosen, clf.cap_cost_)
    for mine, its in zip(clf.predict_topk(X[:50]), opened.predict_topk(X[:50]), strict=True):
        np.testing.assert_array_equal(mine, its)


def test_a_cap_costs_neighbours_but_no_exactness_of_what_is_found():
    params = {"n_neighbors": 9, "learn_weights": False}
    exact, capped, whole = (
        SWNNRanker(**params, search=how).fit(X[:2000], Y[:2000]) for how in ("exact", 1500, 10**6)
    )
    best, found, all_found = (clf.kneighbors(X[:40]) for clf in (exact, capped, whole))
    assert np.all(found.similarities <= best.similarities)
    assert 0.1 < np.mean(found.similarities == best.similarities) < 1
    np.testing.assert_array_equal(all_found.ids, best.ids)
    kept = capped.compress(0.3)
    assert kept.search_ == 1500
    assert kept.predict_topk(X[:9]).labels.shape == (9, 5)


@pytest.mark.parametrize("wrong", ["fast", 0, -1, 1.5, None, True])
def test_what_no_search_is_is_refused(wrong):
    with pytest.raises(ValueError, match="search must be"):
        SWNNRanker(search=wrong).fit(X[:100], Y[:100])


def test_it_belongs_to_training():
    clf = SWNNRanker(n_neighbors=9, search=200).fit(X[:500], Y[:500]).set_params(search="exact")
    with pytest.raises(ValueError, match="search='exact', but the ranker was trained with 200"):
        clf.predict_topk(X[:5])


def test_command_line(tmp_path, capsys):
    write_xmc(tmp_path / "train.txt", X[:400], Y[:400])
    fit = ["fit", str(tmp_path / "train.txt"), "-o", str(tmp_path / "m")]
    assert main([*fit, "--search", "capped"]) != 0
    assert "--search needs --learn ranking" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*fit, "--learn", "ranking", "--search", "fast"])
    assert "must be exact, capped, auto or a number, got 'fast'" in capsys.readouterr().err
    assert main([*fit, "--learn", "ranking", "--search", "70"]) in (0, None)
    assert load(tmp_path / "m").search_ == 70
    (tmp_path / "p.toml").write_text('learn = "ranking"\nsearch = "capped"\n')
    assert main([*fit, "--params", str(tmp_path / "p.toml")]) in (0, None)
    assert load(tmp_path / "m").search_ == 5000
    assert main(["info", str(tmp_path / "m")]) in (0, None)
    assert "5,000 postings" in capsys.readouterr().out
