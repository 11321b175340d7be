"""Records of which profiles are made."""

from dataclasses import replace
from itertools import count
from typing import Any

from palimpsest.memory.record import Record
from palimpsest.memory.statements import Statement, drafted
from palimpsest.models.tiktoken_counter import TiktokenCounter
from palimpsest.profile.profile import Profile, profile_of

NOW = 1_800_000_000_000  # 2027-01-15
DAY = 24 * 3600 * 1000
COUNTER = TiktokenCounter()
NUMBERS = count()


def tokens(text: str) -> int:
    return COUNTER.count(text, "o200k_base")


def record(content: str, *, at: int = NOW - DAY, **fields: Any) -> Record:
    """A fact without a topic, said a day ago, unless said otherwise."""
    stated: dict[str, Any] = {"type": "fact", "content": content, "valid_from": at} | fields
    more: dict[str, Any] = {name: stated.pop(name) for name in ("expires_at",) if name in stated}
    made = drafted(Statement(**stated), tenant="acme", user="sarah", now=NOW, lifetime=None)
    return replace(made, **more)


def topic(name: str, content: str, **fields: Any) -> Record:
    return record(content, topic=name, **fields)


def preference(key: str, value: str) -> Record:
    fields: Any = {"type": "preference", "importance": 0.9, "data": value}
    return topic(f"preference:{key}", f"Preference {key}: {value}", **fields)


def made(*records: Record, now: int = NOW, **how: Any) -> Profile:
    options: dict[str, Any] = {"user": "sarah", "now": now, "count": tokens} | how
    return profile_of(records, **options)


def lines(profile: Profile) -> dict[str, list[str]]:
    """The statements of each section."""
    texts: dict[str, list[str]] = {}
    for section in profile.sections:
        texts[section.kind] = [line.text for line in section.lines]
    return texts
