"""Reads the findings in a model's answer. If the JSON is damaged, it reads what it can."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.errors import ModelOutputInvalid
from palimpsest.extraction.finding import Finding
from palimpsest.graph.things import Relation, as_entity_type, as_relationship_type

MOST_OBJECTS = 200  # a model may repeat itself until its answer is cut off
MOST_RELATIONS = 5  # of one memory
CLAIMS = ("user", "user_id", "tenant", "tenant_id", "session", "session_id")
_LIST = re.compile(r'"memories"\s*:\s*\[')
_BARE_LIST = re.compile(r"\s*(?:```\w*\s*)?\[")
_BETWEEN = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class ExtractionAnswer:
    """The findings in the order of the answer, how many objects were malformed, and whether the
    answer is complete.
    """

    findings: tuple[Finding, ...]
    malformed: int
    is_whole: bool


def read_answer(text: str) -> ExtractionAnswer:
    """Read the findings in a model's answer. Text around them is ignored. If the answer was cut
    off, only complete findings are read. Raises `ModelOutputInvalid` if there is no list of
    memories, or nothing in it can be read.
    """
    opening = _LIST.search(text) or _BARE_LIST.match(text)
    if opening is None:
        raise ModelOutputInvalid("The model's answer holds no list of memories.")
    values, is_whole = _complete_values(text, opening.end())
    findings = [finding for value in values if (finding := _finding(value)) is not None]
    if not findings and (values or not is_whole):
        raise ModelOutputInvalid("No memory in the model's answer can be read.")
    return ExtractionAnswer(tuple(findings), len(values) - len(findings), is_whole)


def _complete_values(text: str, place: int) -> tuple[list[Any], bool]:
    """Return the values of the list that begins at `place`, at most `MOST_OBJECTS`, and whether the
    list ends after them. They are read one by one, so that values before a cut or a fault are
    complete. A parser that completes a cut text (pydantic-core's) would return half a value, or
    nothing at all after a fault in the middle.
    """
    values: list[Any] = []
    while len(values) < MOST_OBJECTS:
        between = _BETWEEN.match(text, place)
        place = between.end() if between else place
        if text[place : place + 1] == "]":
            return values, True
        try:
            value, place = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            break
        values.append(value)
    return values, False


def _finding(value: Any) -> Finding | None:
    """Return one memory as a finding; None if a required field is missing or has another type."""
    if not isinstance(value, dict):
        return None
    kind, content, quote = (_text(value.get(name)) for name in ("type", "content", "quote"))
    seqs = _numbers(value.get("messages"))
    if kind is None or content is None or quote is None or not seqs:
        return None
    return Finding(
        type=kind,
        content=content,
        seqs=seqs,
        quote=quote,
        topic=_text(value.get("topic")),
        subject=_text(value.get("subject")),
        keywords=_texts(value.get("keywords")),
        queries=_texts(value.get("queries")),
        importance=_share(value.get("importance"), 0.5),
        confidence=_share(value.get("confidence"), 1.0),
        claims=_claims(value),
        occurs_at=_text(value.get("occurs_at")),
        due_at=_text(value.get("due_at")),
        rests_on=_texts(value.get("rests_on")),
        relations=tuple(_relations(value.get("relationships"))),
    )


def _relations(value: Any) -> Iterator[Relation]:
    """Yield the relations of a finding that have all fields."""
    for relation in value[:MOST_RELATIONS] if isinstance(value, list) else ():
        if not isinstance(relation, dict):
            continue
        start, kind, end = (_text(relation.get(name)) for name in ("from", "type", "to"))
        kinds = [
            as_entity_type(_text(relation.get(name)) or "Thing")
            for name in ("from_type", "to_type")
        ]
        named = as_relationship_type(kind or "")
        if start and end and named and kinds[0] and kinds[1]:
            single = relation.get("single") is True
            yield Relation(start.strip(), kinds[0], named, end.strip(), kinds[1], single=single)


def _claims(value: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value[name]) for name in CLAIMS if value.get(name) is not None}


def _text(value: Any) -> str | None:
    """Return a text without unpaired surrogates, which no database can store; None if the value is
    not a text.
    """
    if not isinstance(value, str) or not value.strip():
        return None
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _texts(value: Any) -> tuple[str, ...]:
    values: Sequence[Any] = value if isinstance(value, list) else [value]
    return tuple(text for item in values if (text := _text(item)) is not None)


def _numbers(value: Any) -> tuple[int, ...]:
    """Return the sequence numbers. If one of the values is not a number, return an empty result."""
    values: Sequence[Any] = value if isinstance(value, list) else [value]
    numbers = [int(item) for item in values if _is_number(item)]
    return tuple(numbers) if len(numbers) == len(values) else ()


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return value.isascii() and value.isdigit() and len(value) <= 12  # noqa: PLR2004 - digits of a sequence number
    return isinstance(value, int) and not isinstance(value, bool)


def _share(value: Any, default: float) -> float:
    """Return a number limited to 0..1; the default if the value isn't a number."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return default
    return min(1.0, max(0.0, number)) if math.isfinite(number) else default
