"""Any order of appends, ingests, deliveries, crashes and faults of models and engines: all that was
said is remembered once, for its own user, and the index says in the end what the tables say.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule
from palimpsest.conversations.message import Message, text_of
from palimpsest.errors import (
    ModelFailed,
    ModelOutputInvalid,
    ModelUnavailable,
    NotFound,
    Unprocessable,
)
from palimpsest.graph.things import Entity, Relationship, relationship_id
from palimpsest.jobs.events import Changed
from palimpsest.jobs.job import Job

from tests.service import TENANT
from tests.unit.conversations.overflow.test_flush_machine import FLUSH
from tests.unit.conversations.test_state_machine import BUDGET, MEMORY, Conversation, Killed
from tests.unit.whole_service import AGAIN, USERS, Whole, fact_of, user_of

BATCH = 10  # changes that one delivery brings
DIES = st.none() | st.integers(0, 7)
"""Before which write of what is done next the process dies, or after the one before it."""
GRAPHS = ("sarah", "erin")
"""Who has a graph."""
PLACE = st.sampled_from(["berlin", "rome", "oslo"])
SOON = {"max_buffer_turns": 2}  # turns after which a session is extracted by itself


class RememberedConversation(Conversation):
    """A session of Sarah's with all that may happen to it, a transcript of hers that is ingested as
    it grows, and a session of David's beside them. Sarah has a graph, too, and so has Erin, who is
    erased now and then.
    """

    @initialize(memory=MEMORY | st.just(FLUSH))
    def begin(self, memory: dict[str, Any]) -> None:
        self.folder = tempfile.TemporaryDirectory()
        super().begin(memory)
        self.told: list[str] = []
        self.davids: list[str] = []
        self.ever: dict[str, set[str]] = {"sarah": set(), "david": set()}
        self.forgotten: set[str] = set()
        self.gone: set[str] = set()
        self.is_undone = False
        self.through = dict.fromkeys(USERS, 0)
        self.entities: dict[str, dict[str, str]] = {user: {} for user in GRAPHS}
        self.edges: dict[str, dict[tuple[str, str], tuple[str, str]]] = {
            user: {} for user in GRAPHS
        }
        self.talk(turns=2, letters=100)
        self.ingest(turns=2, topical=True)
        self.david_says(" [city] is where he lives")

    def service_of(self, memory: dict[str, Any]) -> Any:
        return Whole(
            Path(self.folder.name), faults=self.maybe_die, **{"max_tokens": BUDGET} | memory | SOON
        )

    def say(self, speaker: str, words: str) -> None:
        super().say(speaker, words)
        if speaker == "q":
            self.ever["sarah"].add(fact_of(self.keys[-1][1]))

    @rule(words=st.sampled_from([" [city] is where she lives", f" once more: {AGAIN}"]))
    def state(self, words: str) -> None:
        self.say("q", words)

    @rule(turns=st.integers(0, 3), topical=st.booleans())
    def ingest(self, turns: int, topical: bool) -> None:  # noqa: FBT001
        """The transcript as it has grown, or as it was."""
        for _ in range(turns):
            self.said += 1
            self.told.append(f"q{self.said} {'[city] is where she was' if topical else 'told'}")
        self.ever["sarah"].update(map(fact_of, self.told))
        with suppress(Killed):
            self.service.ingest_texts(self.told, "t")

    @rule(words=st.sampled_from([" [city] is where he lives", f" once more: {AGAIN}", " told"]))
    def david_says(self, words: str) -> None:
        self.said += 1
        text = f"q{self.said}{words}"
        self.davids.append(text)
        self.ever["david"].add(fact_of(text))
        with suppress(Killed):
            self._david_says(text)
            return
        self._david_says(text)

    def _david_says(self, text: str) -> None:
        self.service.append(text, role="user", key=f"k{text}", session="d", user="david")

    @rule(session=st.sampled_from(sorted(USERS)))
    def ask(self, session: str) -> None:
        with suppress(Killed, NotFound):
            self.service.request(self.service.session(session))

    @rule(turns=st.integers(2, 4), letters=st.integers(40, 200))
    def talk(self, turns: int, letters: int) -> None:
        for _ in range(turns):
            self.say("q", "x" * letters)
            self.say("a", "x" * letters)

    @precondition(lambda self: self.service.outbox)
    @rule(which=st.integers(0, 50), times=st.integers(1, 2), dies_at=DIES)
    def deliver(self, which: int, times: int, dies_at: int | None) -> None:
        """A job's message, mostly of one under way; at each delivery the process dies at one of its
        writes, or not.
        """
        jobs = _in_order(self._under_way() or self.service.outbox)
        for _ in range(times):
            self.writes_until_death = dies_at
            with suppress(Killed, ModelFailed):
                self.service.handle(jobs[-1 - which % len(jobs)])
        self.writes_until_death = None

    def _under_way(self) -> list[Job]:
        return [job for job in self.service.all_jobs() if not job.has_ended]

    @precondition(lambda self: self.service.outbox)
    @rule()
    def deliver_to_the_end(self) -> None:
        """Every job's message until it is done, or dead after its last receive."""
        for job in _in_order(self.service.outbox):
            with suppress(Killed):
                self.service.handle_to_the_end(job)

    @rule(fails=st.sampled_from([None, "timeout", "refusal", "prose", "half", "astray"]))
    def turn_the_model(self, fails: str | None) -> None:
        self.service.model.fails = fails

    @rule(
        failure=st.sampled_from([None, ModelUnavailable("down"), ModelOutputInvalid("no vectors")])
    )
    def turn_the_embedder(self, failure: Exception | None) -> None:
        self.service.embedder.failure = failure

    @rule(down=st.booleans(), some=st.integers(0, 3))
    def turn_the_index(self, down: bool, some: int) -> None:  # noqa: FBT001
        """Down, or closed to some documents, or well."""
        self.service.index.down = down
        keys = sorted(self.service.searchable_of("sarah"))
        self.service.index.unwritable = set(keys[:some])

    @rule(start=st.integers(0, 99), times=st.integers(1, 2), late=st.booleans(), dies_at=DIES)
    def index(self, start: int, times: int, late: bool, dies_at: int | None) -> None:  # noqa: FBT001
        """Some of what the streams told: now, twice, out of order, or again long after it was
        done.
        """
        self.service.look()
        waiting = self.service.delivered_changes if late else self.service.changes
        place = start % (len(waiting) or 1)
        batch = list(dict.fromkeys(waiting[place : place + BATCH]))
        for _ in range(times):
            self.writes_until_death = dies_at
            with suppress(Killed, ModelFailed):
                self.service.deliver_changes(batch)
        self.writes_until_death = None

    @precondition(lambda self: self.service.outbox)
    @rule(which=st.integers(0, 50))
    def two_at_once(self, which: int) -> None:
        """While the next message is worked on, another is delivered: maybe the same."""
        jobs = _in_order(self.service.outbox)
        job = jobs[-1 - which % len(jobs)]
        self.service.meanwhile = lambda: self.service.handle(job)

    @rule(pick=st.integers(0, 99))
    def forget_one(self, pick: int) -> None:
        plain = [record for record in self.service.current_of("sarah") if record.topic_key is None]
        if not plain:
            return
        record = plain[pick % len(plain)]
        self.forgotten.add(record.content)
        with suppress(Killed):
            self.service.manage_memories.delete(user_of("s"), record.id)
            self.gone |= {record.content} - {AGAIN}

    @rule(user=st.sampled_from(GRAPHS), place=PLACE, name=PLACE, dies_at=DIES)
    def put_entity(self, user: str, place: str, name: str, dies_at: int | None) -> None:
        """A new one, the next version of one, or the same again."""
        given = [Entity(place, "City", name)]
        self._surely(
            lambda: self.service.memories_app.graph.put_entities(TENANT.user(user), given), dies_at
        )
        self.entities[user][place] = name

    @rule(user=st.sampled_from(GRAPHS), start=PLACE, end=PLACE, dies_at=DIES)
    def relate(self, user: str, start: str, end: str, dies_at: int | None) -> None:
        given = [Relationship(relationship_id(start, "IS_NEAR", end), "IS_NEAR", start, end)]
        put = partial(self.service.memories_app.graph.put_relationships, TENANT.user(user), given)
        if {start, end} <= self.entities[user].keys():
            self._surely(put, dies_at)
            starts, ends = self._one(user, start), self._one(user, end)
            between = [(one, other) for one in starts for other in ends]
            known = next((each for each in between if each in self.edges[user]), between[0])
            self.edges[user][known] = between[0]
        else:
            with pytest.raises(Unprocessable):
                put()

    @rule(user=st.sampled_from(GRAPHS), place=PLACE, dies_at=DIES)
    def remove_entity(self, user: str, place: str, dies_at: int | None) -> None:
        """With its relationships, and all that has its name; who died on the way may find that it
        is gone.
        """
        remove = partial(self.service.memories_app.graph.delete_entity, TENANT.user(user), place)
        if place not in self.entities[user]:
            with pytest.raises(NotFound):
                remove()
            return
        with nullcontext() if dies_at is None else suppress(NotFound):
            self._surely(remove, dies_at)
        self.writes_until_death = None
        gone = {*self._one(user, place)}
        self.edges[user] = {
            name: edge for name, edge in self.edges[user].items() if not gone & {*edge}
        }
        self.entities[user] = {
            name: said for name, said in self.entities[user].items() if name not in gone
        }

    def _one(self, user: str, place: str) -> list[str]:
        """The ids of the entity that was stored under this one, first the id under which it is
        listed.
        """
        entities = self.entities[user]
        return sorted(name for name, said in entities.items() if said == entities[place])

    @precondition(lambda self: self.entities["erin"])
    @rule(dies_at=DIES)
    def erase_erin(self, dies_at: int | None) -> None:
        self._surely(lambda: self.service.memories_app.erase(TENANT.user("erin")), dies_at)
        self.entities["erin"], self.edges["erin"] = {}, {}

    def _surely(self, call: Callable[[], object], dies_at: int | None) -> None:
        """Call it, and again if the process died on the way."""
        self.writes_until_death = dies_at
        try:
            call()
        except Killed:
            call()
        self.writes_until_death = None

    @invariant()
    def each_graph_is_as_it_was_written(self) -> None:
        for user in GRAPHS:
            graph = self.service.memories_app.graph.read.whole(TENANT.user(user), most=100)
            listed = {each: self._one(user, each)[0] for each in self.entities[user]}
            names = {
                each: said for each, said in self.entities[user].items() if listed[each] == each
            }
            assert {entity.id: entity.name for entity in graph.entities.values()} == names
            edges = sorted((listed[start], listed[end]) for start, end in self.edges[user].values())
            for found in (graph.edges, [*graph.relationships.values()]):
                assert sorted((each.start, each.end) for each in found) == edges

    @precondition(lambda self: self.expected is not None)
    @rule()
    def delete(self) -> None:
        self.is_undone = True
        super().delete()

    @precondition(lambda self: self.expected and self.expected.acknowledged)
    @rule(keep=st.integers(0, 20))
    def withdraw(self, keep: int) -> None:
        self.is_undone = True
        super().withdraw(keep)

    @invariant()
    def the_transcript_is_stored_in_order_and_once(self) -> None:
        texts = _texts(self.service.shown_of("t"))
        assert texts == self.told[: len(texts)]

    @invariant()
    def what_david_said_is_there_once_and_in_order(self) -> None:
        assert _texts(self.service.shown_of("d")) == self.davids

    @invariant()
    def nothing_is_remembered_that_its_user_did_not_say_and_nothing_twice(self) -> None:
        for user, said in self.ever.items():
            contents = Counter(record.content for record in self.service.records_of(user))
            assert contents.keys() <= said
            assert not [content for content, times in contents.items() if times > 1]

    @invariant()
    def progress_never_goes_back(self) -> None:
        for session, before in self.through.items():
            self.through[session] = self.service.memories.progress(
                user_of(session), session
            ).through
            assert self.through[session] >= before

    @invariant()
    def every_message_has_its_place_in_the_ledger_once(self) -> None:
        for session in USERS:
            lines = self.service.memories.lines(user_of(session), session, first=0, last=10**9)
            assert all(one.last < other.first for one, other in pairwise(lines))
            seqs = [message.seq for message in self.service.stored(session)]
            for line in lines:
                received = line.extracted + sum(line.skipped.values()) + line.parked
                there = sum(line.first <= seq <= line.last for seq in seqs)
                assert received == there or (self.is_undone and session == "s")

    def teardown(self) -> None:
        """Once everything works again, everything is remembered, indexed and done with."""
        if not hasattr(self, "service"):
            return
        self._mend_everything()
        super().teardown()
        self._index_everything()
        self._all_is_extracted()
        for user in self.ever:
            self._all_is_remembered(user)
        for user in GRAPHS:
            assert {record.index_state for record in self.service.graph_of(user)} <= {"done"}
        erin = TENANT.user("erin")
        assert (
            self.service.memories.wipe(erin, below_epoch=self.service.memories.user(erin).epoch)
            == 0
        )
        self.folder.cleanup()

    def _mend_everything(self) -> None:
        self.writes_until_death = self.service.meanwhile = None
        self.service.model.fails = self.service.embedder.failure = None
        self.service.index.down, self.service.index.unwritable = False, set()
        self.settle()
        if self.told:
            self.service.ingest_texts(self.told, "t")
        for session in USERS:
            with suppress(NotFound):
                self.service.request(self.service.session(session))

    def bring_index_up_to_date(self) -> None:
        """Deliver what still waits, newest first, and what jobs wait for."""
        self.service.look()
        self._index(self.service.changes[::-1])
        waiting = self.service.sent_again.changes
        waiting[:] = self.service.embed(waiting)

    def _index_everything(self) -> None:
        """What still waits; then once more what was done long ago."""
        self.bring_index_up_to_date()
        assert self.service.changes == []
        self._index_says_what_the_tables_say()
        self._index(self.service.delivered_changes[::-1])
        self._index_says_what_the_tables_say()

    def _index(self, changes: list[Changed]) -> None:
        for start in range(0, len(changes), BATCH):
            self.service.deliver_changes(changes[start : start + BATCH])

    def _index_says_what_the_tables_say(self) -> None:
        for user in self.ever:
            assert self.service.indexed_of(user) == self.service.searchable_of(user)

    def _all_is_extracted(self) -> None:
        assert _texts(self.service.shown_of("t")) == self.told
        for session in USERS:
            progress = self.service.memories.progress(user_of(session), session)
            seqs = [message.seq for message in self.service.shown_of(session)]
            assert not seqs or progress.through >= max(seqs)
            assert not [
                each for each in progress.parked if any(each[0] <= seq <= each[1] for seq in seqs)
            ]
        assert not [job for job in self.service.all_jobs() if job.due_at is not None]

    def _all_is_remembered(self, user: str) -> None:
        """Each fact of what still stands in a session, unless it was forgotten, and of a topic what
        was said last.
        """
        standing = [
            (message, name)
            for name, owner in USERS.items()
            if owner == user
            for message in self.service.shown_of(name)
            if text_of(message.chat).startswith("q")
        ]
        facts = {
            fact_of(text_of(m.chat)) for m, name in standing if not self._was_cut_off(name, m.seq)
        }
        remembered = {record.content: record for record in self.service.records_of(user)}
        assert facts - self.forgotten <= remembered.keys()
        assert not self.gone & remembered.keys()
        assert all(record.index_state == "done" for record in remembered.values())
        topical = [
            ((message.created_at, name, message.seq), text_of(message.chat))
            for message, name in standing
            if "[city]" in text_of(message.chat) and not self._was_cut_off(name, message.seq)
        ]
        if topical and not (user == "sarah" and self.is_undone):
            current = {
                record.content
                for record in self.service.current_of(user)
                if record.topic_key == "city"
            }
            assert current == {max(topical)[1]}

    def _was_cut_off(self, session: str, seq: int) -> bool:
        """Whether the ledger says that an answer on a range that can't be divided was cut off."""
        lines = self.service.memories.lines(user_of(session), session, first=0, last=seq)
        return any(line.last >= seq and line.dropped.get("cut_off") for line in lines)


def _in_order(jobs: Iterable[Job]) -> list[Job]:
    """By creation and id: threads put jobs in an order of their own, and the same choices must pick
    the same jobs.
    """
    return sorted(jobs, key=lambda job: (job.created_at, job.id))


def _texts(messages: list[Message]) -> list[str]:
    return [text_of(message.chat) for message in messages]


TestRememberedConversation = RememberedConversation.TestCase
TestRememberedConversation.settings = settings(stateful_step_count=50)
