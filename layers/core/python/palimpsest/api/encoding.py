"""JSON as answers carry it, and its size there."""

from __future__ import annotations

import json

_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, default=dict)

dumps = _ENCODER.encode


def size_in_answer(text: str) -> int:
    """Bytes within the function's own answer, which is JSON around this text: quotes are escaped
    again.
    """
    return len(text.encode()) + text.count('"') + text.count("\\")
