"""The sections of a profile, and the section that shows a record."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from palimpsest.conversations.spoken import name_of
from palimpsest.memory.filters import folded
from palimpsest.memory.names import INTRODUCED, introduced_in
from palimpsest.memory.record import Record

SectionKind = Literal[
    "who", "health", "work", "likes", "more", "instructions", "preferences", "people", "tasks"
]
"""The sections of a profile in the order in which they are shown. Sections that change most come
last.
"""

NAMES = "preference:user.names"
"""The topic of the record that holds the names which a call has set for the user."""

ORDER: Mapping[str, int] = {kind: number for number, kind in enumerate(get_args(SectionKind))}


@dataclass(frozen=True, slots=True)
class SectionRule:
    """The title of a section, and its share: how many of its lines are taken in each round
    (`profile_of`).
    """

    title: str
    share: int = 1


SECTIONS: Mapping[SectionKind, SectionRule] = {
    "who": SectionRule("Who", share=3),
    "health": SectionRule("Health"),
    "work": SectionRule("Work"),
    "likes": SectionRule("Likes"),
    "more": SectionRule("More"),
    "instructions": SectionRule("Instructions", share=2),
    "preferences": SectionRule("Preferences"),
    "people": SectionRule("People"),
    "tasks": SectionRule("Open tasks"),
}


@cache
def _topics() -> Mapping[str, tuple[SectionKind, int]]:
    """Return the section and the rank of each known topic."""
    file = Path(__file__).with_name("kinds.json")
    listed: Mapping[SectionKind, list[str]] = json.loads(file.read_text(encoding="utf-8"))
    return {
        topic: (kind, rank) for kind, topics in listed.items() for rank, topic in enumerate(topics)
    }


def known_topics() -> tuple[str, ...]:
    """Return the keys of topics that say who a user is."""
    return tuple(_topics())


def kind_of_topic(topic_key: str) -> tuple[SectionKind, int]:
    """Return the section of a topic, and its rank among the known topics. `allergy_nuts` is in the
    section of `allergy`. A topic that is not known is in the section `more`.
    """
    known = _topics()
    if topic_key == NAMES:
        return known["name"]
    kind = known.get(topic_key) or known.get(topic_key.partition("_")[0])
    return kind or ("more", len(known))


def own_names(user: str, names: Iterable[str] = ()) -> frozenset[str]:
    """Return the subjects that mean the user: `user`, the id, each name and alias of the user, and
    each single word of these.
    """
    named = [name_of("user", user=user), *names]
    words = [word for name in named for word in name.split()]
    return frozenset(folded(name) for name in ("", "user", "the user", user, *named, *words))


def names_in(records: Iterable[Record]) -> Iterator[str]:
    """Yield the names and aliases of the user that the records hold. They were set by a call, or
    stated by the user.
    """
    for record in records:
        if record.topic_key in INTRODUCED and record.subject in (None, "user"):
            yield from introduced_in(record.content)
        if record.topic_key == NAMES and isinstance(record.data, Mapping):
            aliases = record.data.get("aliases")
            names = [record.data.get("name"), *(aliases if isinstance(aliases, list) else ())]
            yield from (name for name in names if isinstance(name, str))


def section_of(record: Record, own: frozenset[str]) -> SectionKind | None:
    """Return the section that shows the record, or None if no profile shows it. `own` are the
    subjects that mean the user.
    """
    is_own = folded(record.subject or "").strip() in own
    if not is_own:
        return "people" if record.type == "fact" else None
    match record.type:
        case "preference":
            return "who" if record.topic_key == NAMES else "preferences"
        case "instruction":
            return "instructions"
        case "task":
            return "tasks"
        case "fact":
            return kind_of_topic(record.topic_key or "")[0]
    return None
