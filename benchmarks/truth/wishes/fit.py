"""Fits the weights of labels to sentences, in an environment that has scikit-learn.

python fit.py < {"sentences": [{"signs": [], "label": "", "weight": 1.0}], "strength": C}

Prints the labels, their constants, and the weights of each sign.
"""

import json
import sys
from collections import Counter
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix  # type: ignore[import-untyped] # of its environment
from sklearn.linear_model import LogisticRegression  # type: ignore[import-not-found] # of its environment

LEAST_OFTEN = 3  # sentences that have a sign
DIGITS = 2
LEAST_WEIGHT = 0.15


def fitted(task: dict[str, Any]) -> dict[str, Any]:
    sentences = task["sentences"]
    often = Counter(sign for sentence in sentences for sign in sentence["signs"])
    signs = sorted(sign for sign, count in often.items() if count >= LEAST_OFTEN)
    place = {sign: number for number, sign in enumerate(signs)}
    cells = [
        (row, place[sign])
        for row, sentence in enumerate(sentences)
        for sign in sentence["signs"]
        if sign in place
    ]
    matrix = csr_matrix(
        (np.ones(len(cells)), tuple(zip(*cells, strict=True))), shape=(len(sentences), len(signs))
    )
    labels = [sentence["label"] for sentence in sentences]
    weights = [sentence["weight"] for sentence in sentences]
    model = LogisticRegression(C=task["strength"], max_iter=2_000).fit(matrix, labels, weights)
    rounded = np.round(model.coef_, DIGITS)
    return {
        "labels": [str(label) for label in model.classes_],
        "constants": [round(float(constant), DIGITS) for constant in model.intercept_],
        "signs": {
            sign: [float(weight) for weight in rounded[:, number]]
            for sign, number in place.items()
            if np.abs(rounded[:, number]).max() > LEAST_WEIGHT
        },
    }


if __name__ == "__main__":
    print(json.dumps(fitted(json.load(sys.stdin))))
