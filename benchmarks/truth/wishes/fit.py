"""Fits the weights of labels to sentences, in an environment that has scikit-learn.

python fit.py < {"sentences": [{"signs": [], "label": "", "weight": 1.0}], "strength": C}

Prints the labels, their constants, and the weights of each sign.
"""

import json
import sys
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer  # type: ignore[import-not-found] # of its environment
from sklearn.linear_model import LogisticRegression  # type: ignore[import-not-found] # of its environment

LEAST_OFTEN = 3  # sentences that have a sign
DIGITS = 2
LEAST_WEIGHT = 0.15


def fitted(task: dict[str, Any]) -> dict[str, Any]:
    sentences = task["sentences"]
    vectors = CountVectorizer(analyzer=list, min_df=LEAST_OFTEN)
    matrix = vectors.fit_transform([sentence["signs"] for sentence in sentences])
    labels = [sentence["label"] for sentence in sentences]
    weights = [sentence["weight"] for sentence in sentences]
    model = LogisticRegression(C=task["strength"], max_iter=2_000)
    model.fit(matrix.astype(float), labels, weights)
    rounded = np.round(model.coef_, DIGITS).T
    return {
        "labels": [str(label) for label in model.classes_],
        "constants": [round(float(constant), DIGITS) for constant in model.intercept_],
        "signs": {
            str(sign): row.tolist()
            for sign, row in zip(vectors.get_feature_names_out(), rounded, strict=True)
            if np.abs(row).max() > LEAST_WEIGHT
        },
    }


if __name__ == "__main__":
    print(json.dumps(fitted(json.load(sys.stdin))))
