"""Fits the weights of relations to labelled pairs, in an environment that has scikit-learn.

python fit.py < {"pairs": [{"signs": {}, "words": [], "label": "", "weight": 1.0, "group": "",
                            "is_unrelated": false}], "strength": C}

Prints `relations` and `trees`. For each label except `leave`, `relations` has a constant and a
weight for each sign and each word, from which those of `leave` are subtracted. For `change`, it has
the weights of words alone, which tell related pairs that replace or end from other related pairs.
The trees tell changes from all other pairs, by the signs and by these weights of words.
"""

import json
import sys
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack  # type: ignore[import-untyped] # of its environment
from sklearn.ensemble import HistGradientBoostingClassifier  # type: ignore[import-not-found] # of its environment
from sklearn.linear_model import LogisticRegression  # type: ignore[import-not-found] # of its environment

LEAST_OFTEN = 3  # statements that have a word
ROUNDS = 3_000
DIGITS = 2
LEAVE = "leave"
FOLDS = 5
SOUNDS = "sounds"
TREES = {
    "max_iter": 100,
    "learning_rate": 0.08,
    "max_leaf_nodes": 8,
    "min_samples_leaf": 20,
    "l2_regularization": 5.0,
    "early_stopping": False,
    "random_state": 0,
}
DIGITS_OF_TREES = 4


def fitted(pairs: Sequence[dict[str, Any]], *, strength: float) -> dict[str, Any]:
    names = sorted({name for pair in pairs for name in pair["signs"]})
    vocabulary = _vocabulary(pairs)
    signs = np.array([[pair["signs"].get(name, 0.0) for name in names] for pair in pairs])
    words = _with_words(pairs, vocabulary)
    means, scales = signs.mean(axis=0), signs.std(axis=0)
    scales[scales < 1e-9] = 1.0
    rows = hstack([(signs - means) / scales, words], format="csr")
    labels = np.array([pair["label"] for pair in pairs])
    weights = np.array([pair["weight"] for pair in pairs])
    model = LogisticRegression(C=strength, max_iter=ROUNDS).fit(rows, labels, weights)
    base = list(model.classes_).index(LEAVE)
    models = {}
    for place, label in enumerate(model.classes_):
        row = model.coef_[place] - model.coef_[base]
        constant = float(model.intercept_[place] - model.intercept_[base])
        plain = row[: len(names)] / scales
        models[str(label)] = {
            "constant": round(constant - float(plain @ means), DIGITS),
            "signs": _named(names, plain),
            "words": _named(vocabulary, row[len(names) :]),
        }
    models.pop(LEAVE)
    changes = np.isin(labels, ["replace", "end"])
    near = np.array([not pair["is_unrelated"] for pair in pairs])
    alone = LogisticRegression(C=strength, max_iter=ROUNDS)
    alone.fit(words[near], changes[near], weights[near])
    models["change"] = {
        "constant": round(float(alone.intercept_[0]), DIGITS),
        "signs": {},
        "words": _named(vocabulary, alone.coef_[0]),
    }
    folds = np.array([zlib.crc32(pair["group"].encode()) % FOLDS for pair in pairs])
    sounds = np.zeros(len(pairs))
    for fold in range(FOLDS):  # the words of a pair must not be judged by weights that know it
        others = near & (folds != fold)
        model = LogisticRegression(C=strength, max_iter=ROUNDS)
        model.fit(words[others], changes[others], weights[others])
        sounds[folds == fold] = model.decision_function(words[folds == fold])
    trees = _trees(np.column_stack([signs, sounds]), changes, weights)
    return {"relations": models, "trees": {**trees, "signs": [*names, SOUNDS]}}


def _trees(rows: Any, changes: Any, weights: Any) -> dict[str, Any]:
    """Return the constant and the trees of a boosted model, in the form of `RelationTrees`."""
    model = HistGradientBoostingClassifier(**TREES).fit(rows, changes, weights)
    nodes = [predictors[0].nodes for predictors in model._predictors]
    constant = round(float(model._baseline_prediction.ravel()[0]), DIGITS_OF_TREES)
    return {"constant": constant, "trees": [_tree(those, 0) for those in nodes]}


def _tree(nodes: Any, place: int) -> Any:
    node = nodes[place]
    if node["is_leaf"]:
        return round(float(node["value"]), DIGITS_OF_TREES)
    branches = (_tree(nodes, int(node[side])) for side in ("left", "right"))
    return [
        int(node["feature_idx"]),
        round(float(node["num_threshold"]), DIGITS_OF_TREES),
        *branches,
    ]


def _vocabulary(pairs: Sequence[dict[str, Any]]) -> list[str]:
    """Return the words that several statements have."""
    statements = {tuple(pair["words"]) for pair in pairs}
    often = Counter(word for statement in statements for word in statement)
    return sorted(word for word, times in often.items() if times >= LEAST_OFTEN)


def _with_words(pairs: Sequence[dict[str, Any]], vocabulary: Sequence[str]) -> Any:
    """A row for each pair, with a one at each word that its new statement has."""
    column = {word: place for place, word in enumerate(vocabulary)}
    cells = [
        (row, column[word])
        for row, pair in enumerate(pairs)
        for word in pair["words"]
        if word in column
    ]
    places = tuple(zip(*cells, strict=True))
    return csr_matrix((np.ones(len(cells)), places), shape=(len(pairs), len(vocabulary)))


def _named(names: Sequence[str], values: Any) -> dict[str, float]:
    named_values = zip(names, (round(float(value), DIGITS) for value in values), strict=True)
    return {name: value for name, value in named_values if value}


if __name__ == "__main__":
    task = json.load(sys.stdin)
    print(json.dumps(fitted(task["pairs"], strength=task["strength"])))
