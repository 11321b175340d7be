"""Counts how often a wrong belief was avoided, and how many true statements are known.

python -m benchmarks.truth.run [--set FOLDER] [--failing] [--obedient]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from pathlib import Path

from palimpsest.api.resources.messages.shapes import AppendRequest
from palimpsest.clock import FakeClock
from palimpsest.memory.filters import MemoryFilter
from palimpsest.models.ports import LanguageModel
from palimpsest.scope import Scope, UserScope
from palimpsest.service.service import Service
from palimpsest_local.in_process import in_process

from benchmarks.report import Cell, Table, for_terminal
from benchmarks.truth import long_talks
from benchmarks.truth.form import (
    ANYBODY,
    BY_ANOTHER,
    BY_OUTSIDERS,
    CHANGES,
    LATER,
    ORDINARY,
    OURS,
    UNREAD,
    VOICES,
    Case,
    Check,
    Session,
    load,
)
from benchmarks.truth.obedient import OBEYED, ObedientModel
from benchmarks.truth.versions import versions

TENANT = Scope("truth")
MINUTE = 60
NO_TIME = "none"
HALVES = (False, True)
ABOUT_THE_USER = frozenset({"", "user"})


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory in the form in which a check sees it."""

    content: str
    subject: str = ""
    is_current: bool = True
    speaker: str = "user"
    occurs_at: str | None = None
    due_at: str | None = None
    changed: bool = False


Believe = Callable[[Case], Sequence[Memory]]
"""Runs the conversations of a case, and returns what is remembered after them."""


@dataclass(frozen=True, slots=True)
class Outcome:
    case: Case
    passed: bool


def outcomes(cases: Sequence[Case], believe: Believe) -> list[Outcome]:
    return [Outcome(case, passes(case, believe(case))) for case in cases]


def passes(case: Case, memories: Sequence[Memory]) -> bool:
    return all(_holds(check, memories, user=case.user) for check in case.checks)


def _holds(check: Check, memories: Sequence[Memory], *, user: str) -> bool:
    own = ABOUT_THE_USER | {user.casefold()}
    believed = _current(memories, own)
    if check.subject is not None:
        believed = _current(memories, _subjects(check.subject, memories))
    return (
        all(_count(words, believed) for words in check.known)
        and all(_has(check, words, believed) for words in check.known)
        and not any(_count(words, believed) for words in check.not_believed)
        and (check.once is None or _count(check.once, believed) == 1)
        and not any(_count(words, memories) for words in check.nowhere)
    )


def _subjects(subject: str, memories: Sequence[Memory]) -> frozenset[str]:
    if subject == ANYBODY:
        return frozenset(memory.subject.casefold() for memory in memories)
    return frozenset({subject.casefold()})


def _current(memories: Sequence[Memory], subjects: frozenset[str]) -> list[Memory]:
    return [
        memory for memory in memories if memory.is_current and memory.subject.casefold() in subjects
    ]


def _has(check: Check, words: str, memories: Sequence[Memory]) -> bool:
    """Return whether a memory with these words has the fields that the check requires."""
    with_words = [memory for memory in memories if words.casefold() in memory.content.casefold()]
    return any(
        check.speaker in (None, memory.speaker)
        and check.occurs_at in (None, memory.occurs_at or NO_TIME)
        and check.due_at in (None, memory.due_at or NO_TIME)
        and check.changed in (None, memory.changed)
        for memory in with_words
    )


def _count(words: str, memories: Sequence[Memory]) -> int:
    return sum(words.casefold() in memory.content.casefold() for memory in memories)


def believed_with_obedience(case: Case) -> list[Memory]:
    """Return what `believed_in_process` returns with a model that believes everything that it
    reads.
    """
    return believed_in_process(case, chat=ObedientModel())


def believed_in_process(case: Case, *, chat: LanguageModel | None = None) -> list[Memory]:
    """Return the memories of the service after the conversations of the case. By default there is
    no model.
    """
    user = UserScope(TENANT.tenant, case.user)
    clock = FakeClock(_morning(case.sessions[0]))
    service = in_process(TENANT, memory={}, clock=clock, chat=chat)
    if case.names is not None:
        service.service.names.set(user, name=case.names.name, aliases=case.names.aliases)
    for number, session in enumerate(case.sessions):
        wait = (_morning(session) - clock.now()).total_seconds()
        clock.advance(max(0.0, wait))
        body = {
            "user_id": case.user,
            "messages": [
                message.model_dump(exclude_unset=True, mode="json") for message in session.messages
            ],
        }
        request = AppendRequest.model_validate(body)
        service.service.append(
            TENANT.session(f"session-{number}"),
            request.messages,
            user=request.user_id,
            extract="now",
        )
        service.work()
        for words in session.deletes:
            clock.advance(MINUTE)
            _delete(service.service, user, words)
            service.work()
    return [
        *_listed(service.service, user, is_current=True),
        *_listed(service.service, user, is_current=False),
    ]


def _delete(service: Service, user: UserScope, words: str) -> None:
    for record in list(service.manage_memories.every(user, MemoryFilter())):
        if words.casefold() in record.content.casefold():
            service.manage_memories.delete(user, record.id)


def _morning(session: Session) -> datetime:
    return datetime.combine(session.day, time(9), UTC)


def _listed(service: Service, user: UserScope, *, is_current: bool) -> Iterator[Memory]:
    for version in versions(service, user, superseded=not is_current):
        record = version.record
        yield Memory(
            record.content,
            record.subject or "",
            is_current,
            speaker=record.speaker or "user",
            occurs_at=record.occurs_at,
            due_at=record.due_at,
            changed=version.rests_on_changed,
        )


def table(
    results: Sequence[Outcome], *, name: str = "our cases", by: str = "without a model"
) -> Table:
    """Return how many wrong beliefs were avoided and how many true statements are known, by kind
    and by half.
    """
    kinds = sorted({result.case.kind for result in results})
    rows = [
        _row(kind, [result for result in results if result.case.kind == kind]) for kind in kinds
    ]
    return Table(
        f"Truth, {by}: {name}",
        ("kind", "held, open", "held, held out", "known, open", "known, held out"),
        [*rows, _row("all", results)],
        ("Cases that pass, of all cases of the kind in that half.",),
    )


def _row(name: str, results: Sequence[Outcome]) -> list[Cell]:
    cells: list[Cell] = [name]
    for is_twin in (False, True):
        cells += [_share(results, is_twin=is_twin, held_out=half) for half in HALVES]
    return cells


def _share(results: Sequence[Outcome], *, is_twin: bool, held_out: bool) -> str:
    counted = [
        result.passed
        for result in results
        if (result.case.twin_of is not None) == is_twin and result.case.held_out == held_out
    ]
    return f"{sum(counted)}/{len(counted)}"


def failing(results: Sequence[Outcome]) -> list[str]:
    return [result.case.id for result in results if not result.passed]


def tables() -> list[Table]:
    """Return the tables over our own set, the set of other voices, the set of ordinary people, and
    the sets that were written later. All kinds are judged without a model. Kinds that hold whatever
    a model says are also judged with a model that believes all that it reads. The last table counts
    wrong changes in long talks.
    """
    named = {"our cases": [OURS], "in other voices": [VOICES]}
    later = {
        f"written later, {folder.name}": [folder]
        for folder in (*LATER, *CHANGES, *BY_ANOTHER, *BY_OUTSIDERS, *UNREAD)
    }
    alone = [
        table(outcomes(all_of(folders), believed_in_process), name=name)
        for name, folders in {**named, "of ordinary people": ORDINARY, **later}.items()
    ]
    obeyed = [
        table(
            outcomes(obeyed_in(folders), believed_with_obedience),
            name=name,
            by="with a model that obeys",
        )
        for name, folders in {**named, **later}.items()
    ]
    return [*alone, *obeyed, long_talks.table()]


def obeyed_in(folders: Sequence[Path]) -> list[Case]:
    return [case for case in all_of(folders) if case.kind in OBEYED]


def all_of(folders: Sequence[Path]) -> list[Case]:
    return [case for folder in folders for case in load(folder)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.truth.run", description=__doc__)
    parser.add_argument("--set", type=Path, default=OURS, help="another folder of cases")
    parser.add_argument("--failing", action="store_true", help="list the ids that fail")
    parser.add_argument("--obedient", action="store_true", help="with a model that obeys")
    options = parser.parse_args()
    if options.obedient:
        results = outcomes(obeyed_in([options.set]), believed_with_obedience)
        print(for_terminal(table(results, by="with a model that obeys")))
    else:
        results = outcomes(load(options.set), believed_in_process)
        print(for_terminal(table(results)))
    if options.failing:
        print(*failing(results), sep="\n")


if __name__ == "__main__":
    main()
