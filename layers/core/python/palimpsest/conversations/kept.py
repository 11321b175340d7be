"""How long data of each kind is kept, as a tenant or a session says it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

KINDS = {
    "fact": "facts",
    "event": "events",
    "instruction": "instructions",
    "preference": "preferences",
}
"""Types of records, and the name under which each is kept."""
DAYS_A_YEAR = 365
Kept = Annotated[
    str | None,
    Field(
        pattern=r"^([1-9]\d{0,3}d|[1-9]\d?y|permanent)$",
        description="Days or years (365 days), or permanent; left out: by the days that hold "
        "without it",
    ),
]


class Retention(BaseModel):
    """How long data of a kind is kept: conversations after their last activity, memories after
    their last mention.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    conversations: Kept = None
    facts: Kept = None
    events: Kept = None
    instructions: Kept = None
    preferences: Kept = None

    @property
    def by_type(self) -> dict[str, int | None]:
        """The days of each type of record for which they are given; None = for ever."""
        return {
            kind: days_of(kept)
            for kind, name in KINDS.items()
            if (kept := getattr(self, name)) is not None
        }


def days_of(kept: str) -> int | None:
    """How many days that is; None = for ever."""
    return (
        None if kept == "permanent" else int(kept[:-1]) * (DAYS_A_YEAR if kept.endswith("y") else 1)
    )
