"""Counts the requests that a DynamoDB client really sends, and the capacity units that the database
reports.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

READS = frozenset({"GetItem", "BatchGetItem", "Query", "Scan"})


@dataclass(frozen=True, slots=True)
class Reading:
    """The counts of a meter. `operations` are the calls, in order. `requests` is how many HTTP
    requests were sent for them, including retries.
    """

    operations: tuple[str, ...]
    requests: int
    read_units: float
    write_units: float


@dataclass
class Meter:
    _operations: list[str] = field(default_factory=list)
    _requests: int = 0
    _read: float = 0
    _written: float = 0

    def read(self) -> Reading:
        """Return the counts since the last call."""
        reading = Reading(tuple(self._operations), self._requests, self._read, self._written)
        self._operations, self._requests, self._read, self._written = [], 0, 0, 0
        return reading

    def ask(self, params: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {**params, "ReturnConsumedCapacity": "TOTAL"}

    def sent(self, **_: Any) -> None:
        self._requests += 1

    def answered(self, parsed: dict[str, Any], model: Any, **_: Any) -> None:
        consumed = parsed.get("ConsumedCapacity", [])
        parts = consumed if isinstance(consumed, list) else [consumed]
        units = sum(part["CapacityUnits"] for part in parts)
        self._operations.append(model.name)
        if model.name in READS:
            self._read += units
        else:
            self._written += units


@contextmanager
def metered(client: Any) -> Iterator[Meter]:
    """Count the operations of this botocore client within the block."""
    meter = Meter()
    events = client.meta.events
    handlers = {
        "provide-client-params": meter.ask,
        "before-send": meter.sent,
        "after-call": meter.answered,
    }
    for name, handler in handlers.items():
        events.register(f"{name}.dynamodb", handler)
    try:
        yield meter
    finally:
        for name, handler in handlers.items():
            events.unregister(f"{name}.dynamodb", handler)


def item_bytes(item: dict[str, Any]) -> int:
    """Return an item's size by DynamoDB's rule, for the types that we store. Names and values count
    in UTF-8. A number counts about one byte for two digits, and one more.
    """
    return sum(
        len(name.encode()) + _value_bytes(*next(iter(value.items())))
        for name, value in item.items()
    )


def _value_bytes(kind: str, value: Any) -> int:
    if kind == "S":
        return len(value.encode())
    if kind == "N":
        return len(value.lstrip("-")) // 2 + 1
    if kind == "M":
        return 3 + item_bytes(value) + len(value)
    if kind == "L":
        return 3 + sum(1 + _value_bytes(*next(iter(part.items()))) for part in value)
    return len(value) if kind == "B" else 1
