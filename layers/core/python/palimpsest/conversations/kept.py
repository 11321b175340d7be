"""The retention of each kind of data, which a tenant or a session sets."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

KINDS = {
    "fact": "facts",
    "event": "events",
    "instruction": "instructions",
    "preference": "preferences",
}
"""The types of records that have a retention, and the field of `Retention` for each."""
DAYS_A_YEAR = 365
Kept = Annotated[
    str | None,
    Field(
        pattern=r"^([1-9]\d{0,3}d|[1-9]\d?y|permanent)$",
        description="How long it is kept: days (30d), years of 365 days (2y), or permanent. "
        "Without it, the more general setting applies",
    ),
]


class Retention(BaseModel):
    """How long data of each kind is kept. Conversations are kept after their last activity,
    memories after their last mention.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    conversations: Kept = None
    facts: Kept = None
    events: Kept = None
    instructions: Kept = None
    preferences: Kept = None

    @property
    def by_type(self) -> dict[str, int | None]:
        """The days of each type of record that has a retention; None = for ever."""
        return {
            kind: days_of(kept)
            for kind, name in KINDS.items()
            if (kept := getattr(self, name)) is not None
        }


def days_of(kept: str) -> int | None:
    """Return the number of days of a retention such as `30d` or `2y`; None for `permanent`."""
    if kept == "permanent":
        return None
    days = DAYS_A_YEAR if kept.endswith("y") else 1
    return int(kept[:-1]) * days
