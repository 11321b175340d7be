"""The translation of mem0's filters into tests of records. It knows `AND`, `OR`, `NOT`, comparisons
and `*`; other filters are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, NoReturn

from palimpsest.clock import milliseconds
from palimpsest.errors import FieldError, Unprocessable
from palimpsest.memory.conditions import Condition, leaves, metadata_terms, place
from palimpsest.memory.filters import MemoryFilter, MemoryType
from palimpsest.memory.record import Record
from palimpsest.scope import checked_id

Test = Callable[[Record], bool]
TYPES: frozenset[MemoryType] = frozenset({"fact", "event", "instruction", "task"})
OWNERS = ("user_id", "agent_id", "run_id")
TIMES = ("created_at", "updated_at")
EQUAL = frozenset({"eq", "ne", "in", "nin"})
CONTAINING = frozenset({"contains", "icontains"})
RANGED = frozenset({"gt", "gte", "lt", "lte"})
OPERATORS = EQUAL | CONTAINING | RANGED
ANY = "*"
MOST_CONDITIONS = 100  # every candidate is tested by all of them
MOST_TEXT = 256  # characters of a value
DEEPEST = 8  # the filter is read by recursion


@dataclass(frozen=True, slots=True)
class MemorySelection:
    """The memories that a call asks for, all of one user. If an `agent` or a `run` is given, every
    memory must have this id. `tests` holds all conditions. `where` holds only the conditions that
    stores and indexes can test; `is_narrower` is true if `tests` has further conditions.
    """

    user: str
    agent: str | None
    run: str | None
    where: MemoryFilter
    tests: Sequence[Test]
    is_narrower: bool

    def holds(self, record: Record) -> bool:
        return all(test(record) for test in self.tests)


def selection_of(
    top_fields: Mapping[str, Any],
    filters: Mapping[str, Any] | None = None,
    *,
    metadata: Mapping[str, Any] | None = None,
    categories: Sequence[str] | None = None,
    start: str | None = None,
    end: str | None = None,
) -> MemorySelection:
    """Read the memories that a call asks for. `top_fields` holds the ids at the top of its body or
    query. `filters` are mem0's filters of version 2.

    Raises `Unprocessable` for a filter that can't be tested here, and unless the call names exactly
    one user. Raises `BadRequest` for a name that can't be an id.
    """
    top: list[Mapping[str, Any]] = [
        {name: value} for name, value in top_fields.items() if value is not None
    ]
    if metadata:
        top.append({"metadata": metadata})
    if categories:
        top.append({"categories": {"in": list(categories)}})
    if start is not None:
        top.append({"created_at": {"gte": start}})
    if end is not None:
        top.append({"created_at": {"lt": _end_of(end)}})
    return _Reader().selection([*top, *([filters] if filters else [])])


class _Reader:
    """Reads one filter. `_certain` collects the ids that every memory must have; ids within OR or
    NOT are not collected.
    """

    def __init__(self) -> None:
        self._certain: dict[str, list[str]] = {name: [] for name in OWNERS}
        self._since: list[int] = []
        self._until: list[int] = []
        self._count = 0
        self._narrower = False

    def selection(self, conditions: Sequence[Mapping[str, Any]]) -> MemorySelection:
        tests = [
            self._all(condition, path="filters", is_certain=True, depth=0)
            for condition in conditions
        ]
        user, agent, run = (self._one(name) for name in OWNERS)
        if user is None:
            _refuse("user_id", "is required: name one user, outside of OR and NOT")
        where = MemoryFilter(
            types=TYPES,
            agent=agent,
            session=run,
            created_after=max(self._since, default=None),
            created_before=min(self._until, default=None),
        )
        return MemorySelection(user, agent, run, where, tests, self._narrower)

    def _one(self, name: str) -> str | None:
        """Return the agent, run or user that all memories must have, or None."""
        named = set(self._certain[name])
        if len(named) > 1:
            _refuse(name, f"names {len(named)} ids, but no memory has more than one")
        return next(iter(named), None)

    def _all(self, condition: Any, *, path: str, is_certain: bool, depth: int) -> Test:
        if not isinstance(condition, Mapping) or depth > DEEPEST:
            _refuse(path, f"must be an object, at most {DEEPEST} deep")
        tests = [
            self._joined(name, value, path=f"{path}.{name}", is_certain=is_certain, depth=depth)
            if name in ("AND", "OR", "NOT")
            else self._field(str(name), value, path=f"{path}.{name}", is_certain=is_certain)
            for name, value in condition.items()
        ]
        return lambda record: all(test(record) for test in tests)

    def _joined(self, name: str, value: Any, *, path: str, is_certain: bool, depth: int) -> Test:
        parts = [value] if name == "NOT" and isinstance(value, Mapping) else value
        if not isinstance(parts, list) or not parts:
            _refuse(path, "must be a list of conditions")
        stays_certain = is_certain and (name == "AND" or (name == "OR" and len(parts) == 1))
        self._narrower = self._narrower or not stays_certain
        tests = [
            self._all(part, path=path, is_certain=stays_certain, depth=depth + 1) for part in parts
        ]
        if name == "AND":
            return lambda record: all(test(record) for test in tests)
        if name == "OR":
            return lambda record: any(test(record) for test in tests)
        return lambda record: not any(test(record) for test in tests)

    def _field(self, name: str, value: Any, *, path: str, is_certain: bool) -> Test:
        self._count += 1
        if self._count > MOST_CONDITIONS:
            _refuse("filters", f"may have at most {MOST_CONDITIONS} conditions")
        if name in OWNERS:
            return self._owner(name, value, path=path, is_certain=is_certain)
        if name in TIMES:
            return self._time(value, path=path, is_certain=is_certain)
        self._narrower = True
        return FIELDS.get(name, partial(_metadata, name))(value, path=path)

    def _owner(self, name: str, value: Any, *, path: str, is_certain: bool) -> Test:
        owner = _only(_operators(value, path=path))
        if name == "user_id" and (owner is None or not is_certain):
            _refuse(path, "must name one user, outside of OR and NOT")
        if owner is not None and is_certain:
            self._certain[name].append(checked_id(owner, field=name))
        else:
            self._narrower = True
        if name == "user_id":
            return lambda _: True
        if name == "agent_id":
            return _texts(
                value,
                of=lambda record: list(filter(None, [record.agent])),
                path=path,
                allowed=EQUAL,
            )
        return _texts(
            value,
            of=lambda record: list(filter(None, [record.source.session])),
            path=path,
            allowed=EQUAL,
        )

    def _time(self, value: Any, *, path: str, is_certain: bool) -> Test:
        operators = _operators(value, path=path)

        def times(operand: Any) -> list[int]:
            return [_moment(part, path=path) for part in _listed(operand)]

        moments = {operator: times(operand) for operator, operand in operators.items()}
        if value == ANY:
            return lambda _: True
        if moments.keys() & CONTAINING:
            _refuse(path, "is a time: use eq, ne, in, nin, gt, gte, lt or lte")
        if is_certain:
            self._since += [moment for name in ("gt", "gte") for moment in moments.get(name, ())]
            self._until += [moment for name in ("lt", "lte") for moment in moments.get(name, ())]
        self._narrower = True
        return lambda record: all(
            _compares(record.created_at, name, there) for name, there in moments.items()
        )


def _texts(
    value: Any,
    *,
    of: Callable[[Record], Sequence[str]],
    path: str,
    allowed: frozenset[str] = EQUAL | CONTAINING,
    read: Callable[[str], str] = str,
) -> Test:
    """Return a test of the texts that `of` takes from a record."""
    if value == ANY:
        return lambda record: bool(of(record))
    operators = _operators(value, path=path)
    if not operators.keys() <= allowed:
        _refuse(path, f"takes only the operators {', '.join(sorted(allowed))}")

    def texts(operand: Any) -> list[str]:
        return [read(_text(part, path=path)) for part in _listed(operand)]

    wanted = {name: texts(operand) for name, operand in operators.items()}
    return lambda record: all(_says(of(record), name, there) for name, there in wanted.items())


def _metadata(name: str, value: Any, *, path: str) -> Test:
    if not 0 < len(name) <= MOST_TEXT or "=" in name:
        _refuse(path, "is not a name that metadata can have")
    tests = [
        _of_metadata(name, *condition, path=path)
        for condition in _conditions(name, value, path=path)
    ]
    return lambda record: all(test(record) for test in tests)


def _all_metadata(value: Any, *, path: str) -> Test:
    if not isinstance(value, Mapping):
        _refuse(path, "must be an object")
    tests = [_metadata(str(key), wanted, path=f"{path}.{key}") for key, wanted in value.items()]
    return lambda record: all(test(record) for test in tests)


def _memory_ids(value: Any, *, path: str) -> Test:
    return _texts(
        value,
        of=lambda record: [record.id],
        path=path,
        allowed=EQUAL,
        read=lambda text: text.partition("@")[0],
    )


def _unknown(value: Any, *, path: str) -> NoReturn:
    _refuse(path, "is not known here, because no memory has it")


FIELDS: Mapping[str, Callable[..., Test]] = {
    "metadata": _all_metadata,
    "categories": partial(_texts, of=lambda record: [record.type]),
    "keywords": partial(_texts, of=lambda record: [record.content], allowed=CONTAINING),
    "memory_ids": _memory_ids,
    "app_id": _unknown,
    "feedback": _unknown,
}
"""The tests of all fields except ids and times. A field that is not listed is a name in the
metadata.
"""


def _conditions(name: str, value: Any, *, path: str) -> Iterator[tuple[str, Any]]:
    if value == ANY:
        yield "exists", True
        return
    for operator, operand in _operators(value, path=path).items():
        listed = _listed(operand)
        if (
            any(
                not isinstance(part, str | int | float) or len(str(part)) > MOST_TEXT
                for part in listed
            )
            or not listed
        ):
            _refuse(
                path,
                f"is compared only with texts of at most {MOST_TEXT} characters, numbers, true "
                f"or false",
            )
        if operator in RANGED and (isinstance(operand, list) or place(operand) is None):
            _refuse(path, f"needs a number, or a time in ISO 8601, for {operator}")
        yield operator, operand


def _of_metadata(name: str, operator: str, operand: Any, *, path: str) -> Test:
    if operator in CONTAINING:
        texts = [_text(part, path=path) for part in _listed(operand)]
        return lambda record: _says(
            [str(leaf) for key, leaf in leaves(record.metadata) if key == name], operator, texts
        )
    if operator in ("in", "nin"):
        test = Condition(name, "in", _listed(operand)).test
        return lambda record: (
            test.passes(metadata_terms(record.metadata, most=None)) == (operator == "in")
        )
    test = Condition(name, operator, operand).test  # type: ignore[arg-type] # both have the same names
    return lambda record: test.passes(metadata_terms(record.metadata, most=None))


def _operators(value: Any, *, path: str) -> Mapping[str, Any]:
    """Return the operators of a condition. If the condition is only a value, its operator is `eq`;
    if it is only a list, `in`.
    """
    if isinstance(value, Mapping):
        if not value or not value.keys() <= OPERATORS:
            _refuse(path, f"must be a value, or an object of {', '.join(sorted(OPERATORS))}")
        for operator, operand in value.items():
            if isinstance(operand, list) != (operator in ("in", "nin")):
                _refuse(path, "needs a list for in and nin, and one value for other operators")
        return value
    if value is None:
        _refuse(path, "is null: leave it out, or name a value")
    return {"in": value} if isinstance(value, list) else {"eq": value}


def _only(operators: Mapping[str, Any]) -> str | None:
    """Return the one text that the operators allow; None if they allow several."""
    wanted = [*_listed(operators.get("eq")), *_listed(operators.get("in"))]
    is_one = len(operators) == len(wanted) == 1 and isinstance(wanted[0], str) and wanted[0] != ANY
    return str(wanted[0]) if is_one else None


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _says(texts: Sequence[str], operator: str, wanted: Sequence[str]) -> bool:
    if operator == "icontains":
        return any(there.casefold() in text.casefold() for text in texts for there in wanted)
    if operator == "contains":
        return any(there in text for text in texts for there in wanted)
    return bool(set(texts) & set(wanted)) == (operator in ("eq", "in"))


def _compares(moment: int, operator: str, there: Sequence[int]) -> bool:
    match operator:
        case "gt":
            return moment > there[0]
        case "gte":
            return moment >= there[0]
        case "lt":
            return moment < there[0]
        case "lte":
            return moment <= there[0]
    return (moment in there) == (operator in ("eq", "in"))


def _text(value: Any, *, path: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MOST_TEXT:
        _refuse(path, f"must be a text of 1 to {MOST_TEXT} characters")
    return value


def _moment(value: Any, *, path: str) -> int:
    """Return the epoch milliseconds of a time. It is text in ISO 8601 (UTC if it has no zone), or a
    number of epoch seconds.
    """
    if value == ANY:
        return 0
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return milliseconds(datetime.fromtimestamp(value, UTC))
        moment = datetime.fromisoformat(value)
        return milliseconds(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (TypeError, ValueError, OverflowError, OSError):
        _refuse(path, "must be a time in ISO 8601, or in epoch seconds")


def _end_of(text: str) -> str:
    """Return the moment just after a time. If `text` names a day, return the end of that day."""
    moment = _moment(text, path="end_date")
    is_day = len(text) == len("2026-01-01")
    step = timedelta(days=1) if is_day else timedelta(milliseconds=1)
    return (datetime.fromtimestamp(moment / 1000, UTC) + step).isoformat()


def _refuse(path: str, message: str) -> NoReturn:
    raise Unprocessable(f"{path} {message}.", errors=(FieldError(path, message),))
