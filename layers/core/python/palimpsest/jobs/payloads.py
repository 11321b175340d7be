"""The data of a job besides its range. This module has the base of all payloads and the types of
their fields.

The package that does a kind of job defines its payload.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, StringConstraints, TypeAdapter, ValidationError

from palimpsest.errors import DamagedJob
from palimpsest.scope import ID_PATTERN

Id = Annotated[str, StringConstraints(pattern=rf"^{ID_PATTERN}$")]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Place = Annotated[str, StringConstraints(pattern=r"^\S{1,4096}$")]
"""Where a list continues: a cursor, or an owner's name in a list of owners."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """The data of a job besides its range: ids, numbers, digests and positions, never text. Most
    kinds need none.

    A stored payload with an unknown field comes from a newer release. This release leaves such a
    job alone, so that it does not do half of it.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


NOTHING = Payload()
UNKNOWN_FIELD = "unexpected_keyword_argument"
"""The type of pydantic's error for a field that a dataclass does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPayload(Payload):
    """The progress of a job on a list: how many entries it has removed so far, in how many messages
    it has hidden words, and where the next page begins.
    """

    forgotten: int = 0
    hidden: int = 0
    after: Place | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedPayload(Payload):
    """A stored payload that could not be read. Such a job can be read and ended, but not done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewerPayload(Payload):
    """A stored payload that only a newer release can read, because it has more fields, or because
    the kind of the job is newer. Such a job waits for that release. It is neither done nor ended.
    """


def as_stored(payload: Payload) -> dict[str, Any]:
    """Return the payload as a JSON object, without fields at their defaults.

    Raises `DamagedJob` if a field has a value of the wrong form, because `from_stored` could not
    read it.
    """
    values = {
        field.name: (getattr(payload, field.name), field.default) for field in fields(payload)
    }
    stored = {name: value for name, (value, default) in values.items() if value != default}
    if type(from_stored(stored, expected=type(payload))) in (DamagedPayload, NewerPayload):
        raise DamagedJob(f"A field of this {type(payload).__name__} has a value of the wrong form.")
    return stored


def from_stored(stored: Mapping[str, Any], *, expected: type[Payload]) -> Payload:
    """Return the payload from the JSON object that `as_stored` made. Return a `NewerPayload` if it
    has fields that are unknown here, and a `DamagedPayload` if it is not of the expected type.
    """
    if not stored and expected is Payload:
        return NOTHING
    try:
        return _adapter(expected).validate_python(stored)
    except ValidationError as error:
        kinds = {fault["type"] for fault in error.errors(include_url=False)}
        return NewerPayload() if kinds == {UNKNOWN_FIELD} else DamagedPayload()


_ADAPTERS: dict[type[Payload], TypeAdapter[Payload]] = {}


def _adapter(expected: type[Payload]) -> TypeAdapter[Payload]:
    if expected not in _ADAPTERS:
        _ADAPTERS[expected] = TypeAdapter(expected)
    return _ADAPTERS[expected]
