"""Fits a linear model to labelled rows, in an environment that has scikit-learn.

python fit.py < {"groups": [{"x": [[number or null]], "y": [0 or 1], "weight": number}]}
python fit.py < {"rows": [[number or null]], "y": [0 or 1], "weights": [number]}

Each group has the candidates of one question, and the model ranks them. Without groups, the model
separates the rows with the label 1 from the rows with the label 0. Prints the mean, scale and
weight of each column, and the constant.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression  # type: ignore[import-not-found] # of its environment

STRENGTH = 100.0  # how much the mean loss of a pair counts beside the squares of the weights


def fitted(groups: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a model that ranks the candidates of a question. It is fitted to pairs of an answer
    and another candidate of the same question, so that the answer has the higher sum. All pairs of
    a question together count as much as the question's weight says. The sums are then scaled so
    that they are the logarithm of the odds of an answer.
    """
    raw = np.array([row for group in groups for row in group["x"]], dtype=float)
    means, scales = np.nanmean(raw, axis=0), np.nanstd(raw, axis=0)
    scales[scales < 1e-9] = 1.0
    rows = np.nan_to_num((raw - means) / scales)
    answers = np.array([label for group in groups for label in group["y"]], dtype=bool)
    weights = _weights(groups, rows, answers)
    sums = (rows @ weights).reshape(-1, 1)
    odds = LogisticRegression(C=1e6).fit(sums, answers)
    return {
        "means": means.tolist(),
        "scales": scales.tolist(),
        "weights": (weights * odds.coef_[0][0]).tolist(),
        "constant": float(odds.intercept_[0]),
    }


def told_apart(rows: Sequence[Any], labels: Sequence[int], shares: Sequence[float]) -> Any:
    """Return a regression whose sums are the logarithm of the odds that a row has the label 1."""
    raw = np.array(rows, dtype=float)
    means, scales = np.nanmean(raw, axis=0), np.nanstd(raw, axis=0)
    scales[scales < 1e-9] = 1.0
    weights = np.array(shares) * len(shares) / np.sum(shares)
    model = LogisticRegression(C=1.0, max_iter=1_000)
    model.fit(np.nan_to_num((raw - means) / scales), labels, sample_weight=weights)
    return {
        "means": means.tolist(),
        "scales": scales.tolist(),
        "weights": model.coef_[0].tolist(),
        "constant": float(model.intercept_[0]),
    }


def _weights(groups: Sequence[dict[str, Any]], rows: Any, answers: Any) -> Any:
    differences, shares = [], []
    begin = 0
    for group in groups:
        end = begin + len(group["y"])
        right = rows[begin:end][answers[begin:end]]
        wrong = rows[begin:end][~answers[begin:end]]
        if len(right) and len(wrong):
            pairs = (right[:, None, :] - wrong[None, :, :]).reshape(-1, rows.shape[1])
            differences.append(pairs)
            shares.append(np.full(len(pairs), group["weight"] / len(pairs)))
        begin = end
    x, share = np.vstack(differences), np.concatenate(shares)
    sign = np.where(np.arange(len(x)) % 2 == 0, 1, -1)  # a regression needs both outcomes
    model = LogisticRegression(C=STRENGTH / share.sum(), fit_intercept=False, max_iter=1_000)
    model.fit(x * sign[:, None], sign, sample_weight=share)
    return model.coef_[0]


if __name__ == "__main__":
    task = json.load(sys.stdin)
    if "groups" in task:
        print(json.dumps(fitted(task["groups"])))
    else:
        print(json.dumps(told_apart(task["rows"], task["y"], task["weights"])))
