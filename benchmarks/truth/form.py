"""The form of a labelled case: conversations of a user, and checks of the memories after these
conversations.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

OURS = Path(__file__).parent / "cases"
VOICES = OURS / "voices"
"""A second set: support chats, group chats, transcripts of speech, and developers."""

ORDINARY = tuple(OURS / name for name in ("everyday", "later", "third", "fourth"))
"""Four sets in which ordinary people end, correct and repeat what they said. Each was written
before it was run. The last three were written after the repairs that the set before had led to.
"""
LATER_NAMES = (
    "streets", "strangers", "passers", "newcomers", "guests", "travellers", "visitors",
)  # fmt: skip
LATER = tuple(OURS / name for name in LATER_NAMES)
"""Sets that were each written after the rules, run once, and used to repair them afterwards."""

CHANGES = tuple(OURS / name for name in ("neighbours", "commuters", "lodgers"))
"""Sets of ends, corrections, changed topics and repetitions. Each was written after the repairs that
the one before had led to.
"""
BY_ANOTHER = tuple(OURS / name for name in ("callers", "tenants", "villagers"))
"""Three more sets of ends, corrections, changed topics and repetitions, by other authors."""

IN_FREE_WORDS = tuple(OURS / name for name in ("potters", "sailors"))
"""Two sets by authors who did not know the rules. The first is about what changes, the second about
whose words these are and what may be known. Both were run once before they were read, and then used
for repairs. No weights are trained on them.
"""

IN_PLAIN_WORDS = tuple(OURS / name for name in ("masons", "coopers"))
"""Two sets by authors who did not know the rules, in the words that come to mind first. Both were
run once before they were read, and then used for repairs, the second for only two. No weights are
trained on them.
"""

IN_VOICES = tuple(
    OURS / name for name in ("turners", "saddlers", "fullers", "glaziers", "chandlers")
)
"""Five sets by authors who did not know the rules, in the voices of different people. What matters
is often a remark inside a request. Each was run once before it was read, and then used for repairs,
"glaziers" for few. "Chandlers" is about the people and things around the user. No weights are
trained on them.
"""

EVERYDAY_CHANGES = (OURS / "cartwrights",)
"""Eighty changes by an author who did not know the rules, each in one or two everyday sentences. It
was run once before it was read, and then used for few repairs. No weights are trained on it.
"""

IN_PASSING = (OURS / "wheelwrights", OURS / "thatchers")
"""Two sets of changes that users mention in passing, mostly beside a request to the assistant, by
authors who did not know the rules. Each was run once before it was read, and then used for repairs.
A twin is the first part of its conversation, before anything has changed. No weights are trained on
them.
"""

IN_SIMPLE_WORDS = (OURS / "ropemakers",)
"""A hundred pairs by an author who did not know the rules, one to three plain sentences a message:
half about changes, half about everything else. It was run once before it was read, and then used
for repairs. No weights are trained on it.
"""

BY_OUTSIDERS = (
    *IN_FREE_WORDS,
    *IN_PLAIN_WORDS,
    *IN_VOICES,
    *EVERYDAY_CHANGES,
    *IN_PASSING,
    *IN_SIMPLE_WORDS,
)
"""All sets by authors who did not know the rules, apart from those that are unread."""

UNREAD = tuple(OURS / name for name in ("dockers", "bakers", "weavers", "tanners", "wainwrights"))
"""Five sets whose failures nobody has looked at and nothing is trained on. The first is about what
changes, the second about speakers, material, secrets and deletion, the others about both.
"""

ANYBODY = "anybody"
"""The subject of a check of all memories, such as those about the user's own dog."""


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Said(_Closed):
    """One message. With `off_record`, its speaker asks that it is not remembered. `timestamp` says
    when it was said, if that is long ago.
    """

    role: Literal["user", "assistant", "tool"]
    name: str | None = None
    content: str | None
    off_record: bool | None = None
    timestamp: str | None = None
    tool_calls: Sequence[dict[str, Any]] | None = None
    tool_call_id: str | None = None


class Session(_Closed):
    """A conversation of one day. After it, the user deletes each memory that contains one of the
    words in `deletes`.
    """

    day: date
    messages: Sequence[Said] = Field(min_length=1)
    deletes: Sequence[str] = ()


class Check(_Closed):
    """Words that current memories must or must not contain. Upper and lower case are the same.

    The memories are those about the user, or about the `subject`. The subject `anybody` means all
    memories. `known`: a current memory contains each of these words. `not_believed`: no current
    memory contains any of these. `speaker`, `occurs_at`, `due_at` and `changed` are the required
    fields of a memory in `known`. For times, `none` means no time. `changed` means that the memory
    rests on something that has changed. `once`: exactly one current memory contains it. `nowhere`:
    no memory contains any of these, current or not, about anybody.
    """

    subject: str | None = None
    known: Sequence[str] = ()
    not_believed: Sequence[str] = ()
    once: str | None = None
    speaker: str | None = None
    occurs_at: str | None = None
    due_at: str | None = None
    changed: bool | None = None
    nowhere: Sequence[str] = ()

    @model_validator(mode="after")
    def _checks_something(self) -> Check:
        if not (self.known or self.not_believed or self.once or self.nowhere):
            raise ValueError("a check must name at least one word")
        return self


class Naming(_Closed):
    """The names of the user, which are set before the conversations."""

    name: str | None = None
    aliases: Sequence[str] = ()


class Case(_Closed):
    """A case in which something wrong could be believed. With `twin_of`, it is instead the user's
    own true statement, which must be known.
    """

    id: str
    kind: str
    user: str
    language: Literal["en", "de", "fr", "es"]
    held_out: bool
    twin_of: str | None = None
    names: Naming | None = None
    sessions: Sequence[Session] = Field(min_length=1)
    checks: Sequence[Check] = Field(min_length=1)


CASES = TypeAdapter(list[Case])


def load(folder: Path) -> list[Case]:
    """Return the cases of all files of the folder. Raises pydantic's `ValidationError`."""
    cases: list[Case] = []
    for path in sorted(folder.glob("*.json")):
        cases += CASES.validate_python(json.loads(path.read_text(encoding="utf-8")))
    return cases
