"""After any order of a thousand events, the profile that is served is the one that is made anew of
all that is stored, byte for byte.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from palimpsest.clock import milliseconds
from palimpsest.memory.record import Record
from palimpsest.memory.resting import changed_grounds
from palimpsest.memory.statements import Statement
from palimpsest.models.tiktoken_counter import DEFAULT_ENCODING
from palimpsest.offline.extractor import PatternExtractor
from palimpsest.profile.profile import Profile, profile_of
from palimpsest.profile.read import ReadProfile

from tests.service import SARAH
from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client
from tests.unit.profile.records import COUNTER, tokens
from tests.unit.transfer.files import exported, imported

USER = "/v1/users/sarah"
TOPICS = ("name", "residence", "employer", "allergy_nuts", "yacht", "favorite_tea", "pronouns")
WORDS = ("Ann", "Bremen", "Acme", "tea", "nuts", "blue", "tomorrow", "on 2026-01-20", "Bob")
CITIES = ("Bremen", "Hamburg")
EVENTS = 1_000


def anew(service: Service) -> Profile:
    """The profile of all records of the user that are current, each of them read."""
    records: list[Record] = []
    after = None
    while True:
        page = service.memories.listed(SARAH, limit=100, after=after)
        records += page.records
        after = page.after
        if after is None:
            break
    pointers = {topic.record for topic in service.memories.topics(SARAH, prefix="")}
    current = [record for record in records if record.topic_key is None or record.id in pointers]
    now = milliseconds(service.clock.now())
    changed = changed_grounds(service.memories, SARAH, current)
    return profile_of(current, user="sarah", now=now, count=tokens, changed=changed)


class Life:
    """What happens to the memory of a user, decided by a number."""

    def __init__(self, seed: int) -> None:
        self.service = Service()
        self.call: Client = self.service.client()
        self.chance = random.Random(seed)
        self.file: str | None = None
        self.said = 0
        self.ended = 0
        self.happened: set[str] = set()

    def happens(self) -> None:
        events: list[tuple[int, Callable[[], object]]] = [
            (30, self.save),
            (8, self.say),
            (8, self.live),
            (8, self.commute),
            (4, self.own),
            (5, self.leave),
            (6, self.correct),
            (4, self.weigh),
            (8, self.delete),
            (3, self.revert),
            (6, self.prefer),
            (3, self.dislike),
            (3, self.redact),
            (2, self.forget),
            (2, self.draw),
            (6, self.time_passes),
            (1, self.export),
            (1, self.import_),
            (1, self.erase),
        ]
        weights, work = zip(*events, strict=True)
        (event,) = self.chance.choices(work, weights)
        self.happened.add(event.__name__)
        event()

    def words(self) -> str:
        return f"It is {' '.join(self.chance.choices(WORDS, k=2))} {self.chance.randrange(40)}."

    def at(self, days: int) -> str:
        """A time so many days before or after now, at most."""
        moment = self.service.clock.now().timestamp() + self.chance.randrange(days * 86_400)
        return datetime.fromtimestamp(moment, UTC).isoformat()

    def save(self) -> None:
        kind = self.chance.choice(("fact", "fact", "fact", "instruction", "task", "event"))
        memory: dict[str, Any] = {
            "type": kind,
            "content": self.words(),
            "importance": self.chance.choice((0.5, 0.7, 0.9)),
            "subject": self.chance.choice((None, None, "user", "Bob", "Ann")),
            "topic_key": self.chance.choice((None, *TOPICS)),
        }
        if kind in ("event", "task"):
            memory["topic_key"] = None
        if self.chance.random() < 0.3:
            memory["expires_at"] = self.at(20)
        if self.chance.random() < 0.3:
            days = self.chance.randrange(1, 300)
            memory["valid_from"] = (self.service.clock.now() - timedelta(days=days)).isoformat()
        self.call.save({name: value for name, value in memory.items() if value is not None})

    def say(self) -> None:
        self.said += 1
        topic = self.chance.choice(TOPICS)
        self.call.append(f"s{self.said}", f"fact[{topic}]: {self.words()} ({self.said})")
        self.call("POST", f"/v1/sessions/s{self.said}/end")
        self.service.drain()

    def live(self) -> None:
        self._say_plainly(f"I live in {self.chance.choice(CITIES)}.")

    def commute(self) -> None:
        """Say something that rests on where the user lives."""
        minutes, city = self.chance.randrange(5, 60), self.chance.choice(CITIES)
        self._say_plainly(f"My commute from {city} takes {minutes} minutes.")

    def own(self) -> None:
        """Get something, or sell it: an end of a statement that may have no topic."""
        self._say_plainly(self.chance.choice(("I have a boat.", "I sold the boat.")))

    def leave(self) -> None:
        """Say of one or two cities that the user no longer lives there."""
        for city in self.chance.sample(CITIES, k=self.chance.randrange(1, 3)):
            self._say_plainly(f"I don't live in {city} any more.")
        pointers = self.service.memories.pointers(SARAH, ["residence"])
        self.ended += sum(pointer.ended is not None for pointer in pointers.values())

    def _say_plainly(self, text: str) -> None:
        self.said += 1
        extractor, self.service.extractor = self.service.extractor, PatternExtractor()
        self.service.wire_workers()
        self.call.append(f"s{self.said}", text)
        self.call("POST", f"/v1/sessions/s{self.said}/end")
        self.service.drain()
        self.service.extractor = extractor
        self.service.wire_workers()

    def any_memory(self, status: str = "current") -> str | None:
        query = {"limit": 100, "status": status}
        found = self.call("GET", f"{USER}/memories", query=query).json["memories"]
        return str(self.chance.choice(found)["id"]) if found else None

    def correct(self) -> None:
        self.call("PATCH", f"{USER}/memories/{self.any_memory()}", {"content": self.words()})

    def weigh(self) -> None:
        change = {
            "importance": self.chance.random(),
            "subject": self.chance.choice(("Ann", "user")),
        }
        self.call("PATCH", f"{USER}/memories/{self.any_memory()}", change)

    def delete(self) -> None:
        self.call("DELETE", f"{USER}/memories/{self.any_memory()}")

    def revert(self) -> None:
        self.call("POST", f"{USER}/memories/{self.any_memory('superseded')}/revert")

    def prefer(self) -> None:
        key = f"key{self.chance.randrange(12)}"
        self.call("PUT", f"{USER}/preferences/{key}", {"value": self.words()})

    def dislike(self) -> None:
        self.call("DELETE", f"{USER}/preferences/key{self.chance.randrange(12)}")

    def redact(self) -> None:
        session = f"s{self.chance.randrange(self.said + 1)}"
        self.call("PATCH", f"/v1/sessions/{session}/messages/1", {"content": "[redacted]"})
        self.service.drain()

    def forget(self) -> None:
        where = {"subject": self.chance.choice(("Ann", "Bob"))}
        self.call("POST", f"{USER}/memories/forget", {"filter": where})
        self.service.drain()

    def draw(self) -> None:
        number = self.chance.randrange(20)
        entities = [{"id": f"e{number}", "type": "Box", "name": f"Box {number}"}]
        self.call("POST", f"{USER}/graph/entities", {"entities": entities})

    def time_passes(self) -> None:
        self.service.time.advance(self.chance.choice((1, 3_600, 86_400)))
        if self.chance.random() < 0.3:
            self.service.sweep()
            self.service.drain()

    def export(self) -> None:
        self.file = exported(self.service, self.call)

    def import_(self) -> None:
        if self.file is not None:
            imported(self.service, self.call, self.file)

    def erase(self) -> None:
        if self.chance.random() < 0.2:
            self.call("DELETE", USER)
            self.service.drain()


@pytest.mark.parametrize("seed", range(2))
def test_a_served_profile_is_always_the_one_that_is_made_anew(seed: int) -> None:
    life = Life(seed)
    served = ReadProfile(life.service.memories, COUNTER, life.service.clock)
    was_complete, marked = set(), 0
    for _ in range(EVENTS):
        life.happens()
        found = served(SARAH)
        assert found == anew(life.service)
        was_complete.add(found.is_complete)
        marked += sum(line.rests_on_changed for section in found.sections for line in section.lines)
    assert len(life.happened) >= 18
    assert life.ended > 3
    assert marked > 0
    assert was_complete == {False, True}


def test_statements_make_the_same_profile_in_whichever_order_they_arrive() -> None:
    chance = random.Random(7)
    now = milliseconds(Service().clock.now())
    said = [
        Statement(
            type=chance.choice(("fact", "fact", "instruction")),
            content=f"It is {chance.choice(WORDS)} {number}.",
            topic=chance.choice((None, *TOPICS, *(f"thing_{each}" for each in range(60)))),
            subject=chance.choice((None, "user", "Bob", "Ann")),
            importance=chance.choice((0.5, 0.7, 0.9)),
            valid_from=now - number * 1_000,
        )
        for number in range(EVENTS)
    ]
    texts = set()
    for seed in range(5):
        service = Service()
        random.Random(seed).shuffle(said)
        for start in range(0, EVENTS, 30):
            service.memories_app.remember(SARAH, said[start : start + 30])
        made = ReadProfile(service.memories, COUNTER, service.clock)(SARAH)
        assert made == anew(service)
        texts.add(json.dumps([made.text, made.is_complete]))
    assert len(texts) == 1
    assert COUNTER.count(json.loads(texts.pop())[0], DEFAULT_ENCODING) <= 400
