"""Finds what makes a labelled set unusable: labels that name nothing, and conversations that no
chat API would accept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from benchmarks.retrieval.labelled.form import (
    Conversation,
    Dataset,
    Question,
    Session,
    Supersession,
)

MAX_EVIDENCE = 4
MAX_SUMMED = 6
SEVERAL = frozenset({"multi-hop", "sum", "change"})
"""The kinds of questions that several messages answer together."""
ID = re.compile(r"(?!\.+$)[A-Za-z0-9._:@+|=-]{1,128}")  # what the API takes as an id


def faults(dataset: Dataset) -> Iterator[str]:
    """Yield what makes the set unusable, in one sentence for each fault. The form of its parts was
    already checked.
    """
    if not dataset.conversations:
        yield "the set has no conversation"
    if not dataset.questions and not dataset.supersessions:
        yield "the set has no question"
    yield from _id_faults(dataset)
    for conversation in dataset.conversations:
        yield from _conversation_faults(conversation)
    for question in dataset.questions:
        yield from _question_faults(dataset, question)
    for supersession in dataset.supersessions:
        yield from _supersession_faults(dataset, supersession)


def _id_faults(dataset: Dataset) -> Iterator[str]:
    sessions = [
        session for conversation in dataset.conversations for session in conversation.sessions
    ]
    kinds = {
        "conversation": [conversation.id for conversation in dataset.conversations],
        "session": [session.id for session in sessions],
        "message": [message.id for session in sessions for message in session.messages],
        "label": [question.id for question in dataset.questions]
        + [supersession.id for supersession in dataset.supersessions],
    }
    for kind, ids in kinds.items():
        yield from (
            f"{kind} id {name} is used {times} times"
            for name, times in Counter(ids).items()
            if times > 1
        )
        yield from (
            f"{kind} id {id_!r} is not an id the API takes" for id_ in ids if not ID.fullmatch(id_)
        )


def _conversation_faults(conversation: Conversation) -> Iterator[str]:
    users = {session.user for session in conversation.sessions}
    if len(users) != 1:
        yield f"conversation {conversation.id} needs sessions of exactly one user, it has {sorted(users)}"
    yield from (
        f"user {user!r} is not an id the API takes" for user in users if not ID.fullmatch(user)
    )
    for session in conversation.sessions:
        if not session.messages:
            yield f"session {session.id} has no messages"
        for before, after in pairwise(session.messages):
            if after.timestamp < before.timestamp:
                yield f"message {after.id} is earlier than {before.id}, which stands before it"
        yield from _chat_faults(session)


def _chat_faults(session: Session) -> Iterator[str]:
    open_calls: set[str] = set()
    for message in session.messages:
        if message.role == "tool" and message.tool_call_id not in open_calls:
            yield f"message {message.id} answers no open tool call: {message.tool_call_id}"
        if message.role != "tool" and open_calls:
            yield f"message {message.id} comes before these tool calls are answered: {sorted(open_calls)}"
            open_calls.clear()
        if message.tool_calls and message.role != "assistant":
            yield f"message {message.id} has tool calls, but is not the assistant's"
        if not message.text:
            yield f"message {message.id} is empty"
        open_calls.discard(message.tool_call_id or "")
        open_calls |= {call.id for call in message.tool_calls}
    if open_calls:
        yield f"session {session.id} ends before these tool calls are answered: {sorted(open_calls)}"


def _question_faults(dataset: Dataset, question: Question) -> Iterator[str]:
    name, ids = f"question {question.id}", question.answer_ids
    if question.user not in dataset.users():
        yield f"{name} is about {question.user}, who says nothing in this set"
    yield from _number_faults(question)
    for evidence in question.evidence:
        yield from _quote_faults(
            dataset, name, message=evidence.message, quote=evidence.quote, user=question.user
        )
    for evidence in question.elsewhere:
        yield from _quote_faults(dataset, name, message=evidence.message, quote=evidence.quote)
        if (
            evidence.message in dataset
            and dataset.session_of(evidence.message).user == question.user
        ):
            yield f"{name} says that {evidence.message} is another user's, but it is {question.user}'s own"
    spoken = {dataset.session_of(id_).language for id_ in ids if id_ in dataset}
    if spoken and question.cross_lingual != any(
        language != question.language for language in spoken
    ):
        yield f"{name} is in {question.language}, its evidence in {', '.join(sorted(spoken))}: cross_lingual is wrong"


def _number_faults(question: Question) -> Iterator[str]:
    name, ids = f"question {question.id}", question.answer_ids
    most = MAX_SUMMED if question.kind in ("sum", "change") else MAX_EVIDENCE
    least = 2 if question.kind in SEVERAL else 1
    if question.kind == "no-answer":
        least = most = 0
    if not least <= len(ids) <= most:
        yield f"{name} ({question.kind}) needs {least} to {most} messages as evidence, it has {len(ids)}"
    if len(set(ids)) < len(ids):
        yield f"{name} names a message twice"
    if (question.kind == "no-answer") == bool(question.answer):
        yield f"{name} ({question.kind}) {'has' if question.answer else 'lacks'} an answer"
    if question.elsewhere and question.kind != "no-answer":
        yield f"{name} has an answer of its own: `elsewhere` is for questions without one"


def _supersession_faults(dataset: Dataset, supersession: Supersession) -> Iterator[str]:
    name, new = f"supersession {supersession.id}", supersession.new
    quotes = [(old.message, old.quote) for old in supersession.old] + [(new.message, new.quote)]
    for message, quote in quotes:
        yield from _quote_faults(
            dataset, name, message=message, quote=quote, user=supersession.user
        )
    for before, after in pairwise([message for message, _ in quotes if message in dataset]):
        if dataset.message(before).timestamp >= dataset.message(after).timestamp:
            yield f"{name}: {before} is replaced by {after}, but is not the earlier one"
    if new.keyword not in new.quote:
        yield f"{name}: the new statement's quote does not contain its keyword {new.keyword!r}"
    for old in supersession.old:
        if old.wrong is not None and (old.wrong not in old.quote or old.wrong in new.quote):
            yield f"{name}: {old.wrong!r} must stand in the quote of {old.message} and not in that of {new.message}"
    yield from _version_faults(supersession)


def _version_faults(supersession: Supersession) -> Iterator[str]:
    name, stale = f"supersession {supersession.id} ({supersession.kind})", len(supersession.stale)
    valid_again = len(supersession.old) - stale
    if stale < (2 if supersession.kind == "corrected-twice" else 1):
        yield f"{name} has too few old statements with a wrong word: {stale}"
    if bool(valid_again) != (supersession.kind == "returned"):
        yield f"{name} has {valid_again} old statements whose value holds again"


def _quote_faults(
    dataset: Dataset, name: str, *, message: str, quote: str, user: str | None = None
) -> Iterator[str]:
    if message not in dataset:
        yield f"{name} names message {message}, which is not in the set"
        return
    owner = dataset.session_of(message).user
    if user is not None and owner != user:
        yield f"{name} is about {user}, but message {message} is {owner}'s"
    if not quote or quote not in dataset.message(message).text:
        yield f"{name} quotes words that message {message} does not contain: {quote!r}"
