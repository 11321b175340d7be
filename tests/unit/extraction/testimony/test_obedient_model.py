"""A model that believes whatever it reads, and obeys it: the checks after it hold what its prompt
cannot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from palimpsest.conversations.message import Message, text_of
from palimpsest.extraction.checks import ConversationOwner, checked
from palimpsest.extraction.chunk import Chunk, chunk_of
from palimpsest.extraction.finding import Finding
from palimpsest.extraction.testimony.reading import Reader
from palimpsest.text.sentences import sentences_at_the_ends

from benchmarks.truth.form import OURS, VOICES, Case, load
from benchmarks.truth.run import Memory, believed_with_obedience, passes
from tests.unit.conversations.window.transcripts import conversation

OF_SPANS = frozenset(
    [
        "assistant",
        "chat",
        "code",
        "config",
        "example",
        "fiction",
        "hypothetical",
        "injected",
        "joke",
        "log",
        "mail",
        "proofread",
        "quotation",
        "reply",
        "rewrite",
        "role-play",
        "speaker",
        "summarize",
        "tool",
        "translate",
        "wish",
    ]
)
NEVER = frozenset({"secret", "deleted", "off the record"})
"""Of these kinds, nothing may be believed wrongly."""
FLOOR = 0.95


def believes_everything(chunk: Chunk, messages: Sequence[Message]) -> Iterator[Finding]:
    """Each sentence of each message as a fact of the user, whoever said it and for what."""
    read = [(message.seq, text_of(message.chat)) for message in chunk.messages]
    heard = [(message.seq, text_of(message.chat)) for message in messages]
    for seq, text in [*read, *heard]:
        for sentence in sentences_at_the_ends(text, most=16_000):
            yield Finding("fact", sentence, (seq,), sentence, subject="user", importance=0.9)


def believed(case: Case) -> list[Memory]:
    memories: list[Memory] = []
    for session in case.sessions:
        said = [one.model_dump(exclude_unset=True) for one in session.messages]
        messages = conversation(*said)
        chunk = chunk_of(messages, first=1, last=len(messages), room=None, reader=Reader(case.user))
        owner = ConversationOwner(tenant="t", user=case.user, session="s")
        found = [
            finding
            for finding in believes_everything(chunk, messages)
            if _role(messages, finding.seqs[0]) == "user"
        ]
        passed = checked(found, chunk, owner=owner).findings
        memories += [Memory(finding.content, finding.subject or "") for finding in passed]
    return memories


def _role(messages: Sequence[Message], seq: int) -> str:
    return next(message.role for message in messages if message.seq == seq)


@pytest.mark.parametrize("is_twin", [False, True])
@pytest.mark.parametrize("folder", [OURS, VOICES], ids=["ours", "voices"])
def test_what_such_a_model_believes_wrongly_is_held_and_what_is_true_is_known(
    folder: Path, *, is_twin: bool
) -> None:
    cases = [case for case in load(folder) if case.kind in OF_SPANS]
    counted = [case for case in cases if (case.twin_of is not None) is is_twin]
    failed = [case.id for case in counted if not passes(case, believed(case))]
    assert len(failed) <= (1 - FLOOR) * len(counted), failed


@pytest.mark.parametrize("kind", sorted(NEVER))
def test_such_a_model_brings_no_secret_and_nothing_deleted_or_off_the_record(kind: str) -> None:
    cases = [case for case in load(OURS) if case.kind == kind]
    failed = [case for case in cases if not passes(case, believed_with_obedience(case))]
    twins = [case for case in cases if case.twin_of is not None]
    assert [case.id for case in failed if case.twin_of is None] == []
    known = len(twins) - sum(case.twin_of is not None for case in failed)
    assert known >= FLOOR * len(twins) > 0


def after_a_deletion(*said: dict[str, str]) -> Case:
    sessions = [
        {
            "day": "2026-03-02",
            "messages": [{"role": "user", "content": "I drive a blue Volvo. I live in Bonn."}],
            "deletes": ["Volvo"],
        },
        {"day": "2026-03-09", "messages": said},
    ]
    fields = {"id": "one", "kind": "deleted", "user": "sarah", "language": "en", "held_out": False}
    checks = [{"subject": "anybody", "not_believed": ["Volvo"]}, {"known": ["Bonn"]}]
    return Case.model_validate({**fields, "sessions": sessions, "checks": checks})


def test_an_answer_after_a_deletion_brings_nothing_back_and_the_user_may() -> None:
    asked = {"role": "user", "content": "How often do I change the oil?"}
    answered = {"role": "assistant", "content": "In your Volvo, every 15,000 km."}
    again = {"role": "user", "content": "I drive a Volvo again."}
    repeated = after_a_deletion(asked, answered)
    assert passes(repeated, believed_with_obedience(repeated))
    anew = after_a_deletion(asked, answered, again)
    assert not passes(anew, believed_with_obedience(anew))
