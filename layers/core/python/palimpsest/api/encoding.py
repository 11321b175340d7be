"""The JSON encoding of answers, and the size of a text in an answer."""

from __future__ import annotations

import json

_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, default=dict)

dumps = _ENCODER.encode


def size_in_answer(text: str) -> int:
    """Return the bytes that a text takes in the answer of a Lambda function. That answer is JSON
    around the text, so quotes and backslashes are escaped again.
    """
    return len(text.encode()) + text.count('"') + text.count("\\")
