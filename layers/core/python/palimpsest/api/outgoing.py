"""Answers as JSON, and pages of lists that stay under the size limit of an answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from aws_lambda_powertools.event_handler import Response, content_types

from palimpsest.errors import TooLarge

MAX_BYTES = 5_000_000
_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, default=dict)
dumps = _ENCODER.encode


def answered(value: Mapping[str, Any], *, status: int = 200, headers: dict[str, str] | None = None) -> Response[str]:
    """The value as a JSON answer. Raises `TooLarge` (`answer_too_large`) if it is larger than an answer may be."""
    body = dumps(value)
    if _size(body) > MAX_BYTES:
        raise TooLarge("The answer is larger than an answer may be: ask for less.", code="answer_too_large")
    return _json(body, status=status, headers=headers)


def _json(body: str, *, status: int = 200, headers: Mapping[str, str | list[str]] | None = None) -> Response[str]:
    return Response(status_code=status, content_type=content_types.APPLICATION_JSON, body=body, headers=headers)


def _size(text: str) -> int:
    """Bytes within the function's own answer, which is JSON around this text: quotes are escaped again."""
    return len(text.encode()) + text.count('"') + text.count("\\")


def paged(
    name: str, rows: Iterable[tuple[Mapping[str, Any], int]], *, after: int | None, cursor: Callable[[int], str]
) -> Response[str]:
    """A page of `rows`, each with its place, as far as an answer can carry them (the first always).

    `after` is where the next page goes on if all of them fit, None = nowhere.
    """
    texts: list[str] = []
    size, last = 0, 0
    for row, place in rows:
        text = dumps(row)
        size += _size(text) + 1
        if texts and size > MAX_BYTES - 1_000:
            after = last
            break
        texts.append(text)
        last = place
    next_cursor = dumps(None if after is None else cursor(after))
    return _json(f'{{"{name}":[{",".join(texts)}],"next_cursor":{next_cursor}}}')


def fitting(page: Callable[[int], Mapping[str, Any]], *, limit: int) -> Response[str]:
    """The page of at most `limit` rows, or of fewer where their rows are too large for one answer."""
    while True:
        try:
            return answered(page(limit))
        except TooLarge:
            if limit == 1:
                raise
            limit //= 2
