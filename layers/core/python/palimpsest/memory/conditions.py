"""Turns conditions on metadata into tests of terms, so that the tables and every search engine give
the same result.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Literal, get_args

from palimpsest.clock import milliseconds
from palimpsest.memory.record import MAX_METADATA_TERMS

Operator = Literal["eq", "ne", "gt", "gte", "lt", "lte", "in", "exists"]
OPERATORS: frozenset[str] = frozenset(get_args(Operator))
RANGES = frozenset({"gt", "gte", "lt", "lte"})
MAX_TERM = 512  # characters of one term
# A prefix distinguishes other values from texts, because "true" and true, or "3" and 3, are
# different values.
_OTHER, _NUMBER, _TIME = "\x01", "\x01n", "\x01t"


@dataclass(frozen=True, slots=True)
class TermTest:
    """A test of a document's terms. It passes if one of them is in `any_of` or in one of the
    `ranges`. With `negated`, it passes if none of them is there. A range begins with its first text
    and ends before its second, in the order of code points.
    """

    any_of: frozenset[str] = frozenset()
    ranges: tuple[tuple[str, str], ...] = ()
    negated: bool = False

    def passes(self, terms: Iterable[str]) -> bool:
        return self.negated != any(map(self._has, terms))

    def _has(self, term: str) -> bool:
        return term in self.any_of or any(low <= term < high for low, high in self.ranges)


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on the values under a path, which is the names of nested objects joined by
    dots.

    For a list, one matching value is enough. The operator `ne` is also met if there is no value.
    Ranges compare numbers with numbers, and times with times. Times are texts in ISO 8601, in UTC
    if they name no zone. `value` is a list for `in`, and a truth value for `exists`.
    """

    path: str
    operator: Operator
    value: Any

    @property
    def test(self) -> TermTest:
        if self.operator == "exists":
            return TermTest(
                ranges=((f"{self.path}=", f"{self.path}>"), (f"{self.path}.", f"{self.path}/")),
                negated=not self.value,
            )
        if self.operator in RANGES:
            return TermTest(ranges=(self.range,))
        values = self.value if self.operator == "in" else (self.value,)
        return TermTest(
            frozenset(term(self.path, value) for value in values), negated=self.operator == "ne"
        )

    @property
    def range(self) -> tuple[str, str]:
        """Return the terms of a range: the first term, and the term before which the range ends."""
        comparable = place(self.value)
        if comparable is None:
            raise ValueError("a range takes a number or a time")
        here, kind = f"{self.path}={comparable}", comparable[: len(_NUMBER)]
        after = f"{here}\x00"
        bounds = {"gt": (after, ""), "gte": (here, ""), "lt": ("", here), "lte": ("", after)}
        low, high = bounds[self.operator]
        # a place ends in hexadecimal digits
        return (low or f"{self.path}={kind}", high or f"{self.path}={kind}g")


def conditions(metadata: Mapping[str, Any]) -> Iterator[Condition]:
    """Yield the conditions that a filter names by path. A plain value must be equal. An object
    names operators.
    """
    for path, wanted in metadata.items():
        named = wanted if isinstance(wanted, Mapping) else {"eq": wanted}
        for operator in get_args(Operator):
            if operator in named:
                yield Condition(path, operator, named[operator])


def metadata_terms(
    metadata: Mapping[str, Any], *, most: int | None = 2 * MAX_METADATA_TERMS
) -> tuple[str, ...]:
    """Return the terms by which filters find metadata. Each value has a term `path=value`. A number
    or time also has a term that sorts it among numbers or times.
    """
    return tuple(islice(_terms(metadata), most))


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each single value with its path. An empty object or list counts as a value."""
    if isinstance(value, Mapping) and (value or not path):
        for name, inner in value.items():
            yield from leaves(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list | tuple) and value:
        for inner in value:
            yield from leaves(inner, path)
    else:
        yield path, value


def term(path: str, value: Any) -> str:
    """Return the term of a value. A text is used unchanged, cut to its limit."""
    if isinstance(value, str):
        return f"{path}={value}"[:MAX_TERM]
    number = place(value)
    return f"{path}={number or _OTHER + json.dumps(value, default=dict)}"


def place(value: Any) -> str | None:
    """Return a text that sorts a number among numbers, or a time among times. Return None for other
    values.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _NUMBER + _sortable(value)
    time = _time(value) if isinstance(value, str) else None
    return None if time is None else _TIME + _sortable(time)


def _terms(metadata: Mapping[str, Any]) -> Iterator[str]:
    for path, value in leaves(metadata):
        yield term(path, value)
        if isinstance(value, str) and (time := place(value)):
            yield f"{path}={time}"


def _time(text: str) -> int | None:
    """Return the epoch milliseconds of a text that begins as a date, or None for any other text."""
    if len(text) < len("2026-01-01") or text[4] != "-":
        return None
    try:
        moment = datetime.fromisoformat(text)
        return milliseconds(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None


def _sortable(number: float) -> str:
    """Return sixteen hexadecimal digits that sort as doubles do."""
    try:
        (bits,) = struct.unpack(">Q", struct.pack(">d", number + 0.0))
    except OverflowError:
        (bits,) = struct.unpack(
            ">Q", struct.pack(">d", float("inf") if number > 0 else float("-inf"))
        )
    sign = 1 << 63
    return format(bits ^ (2 * sign - 1) if bits & sign else bits | sign, "016x")
