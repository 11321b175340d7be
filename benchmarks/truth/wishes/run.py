r"""Counts what is remembered of words that are off the record, and of secrets.

A file of `blocks/` has short conversations by authors who did not know the rules. A line that
begins with "U:" or "A:" is a message, and "\n" in it is a line break. "-" is before words that
must not be remembered, and "+" before words that must be.

python -m benchmarks.truth.wishes.run [--failing]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from palimpsest.api.resources.messages.shapes import AppendRequest
from palimpsest.clock import FakeClock
from palimpsest.scope import Scope, UserScope
from palimpsest_local.in_process import in_process

from benchmarks.report import Cell, Table, for_terminal
from benchmarks.truth.versions import versions

FILES = tuple(sorted((Path(__file__).parent / "blocks").glob("*.txt")))
ROLES = {"U:": "user", "A:": "assistant"}
SCOPE, USER = Scope("wishes"), UserScope("wishes", "user")
BEGINS = datetime(2026, 3, 2, 9, tzinfo=UTC)
MINUTE = 60


@dataclass(frozen=True, slots=True)
class Block:
    messages: Sequence[tuple[str, str]]
    """Roles and texts."""
    private: Sequence[str]
    known: Sequence[str]


@dataclass(frozen=True, slots=True)
class Result:
    block: Block
    leaked: Sequence[str]
    missed: Sequence[str]


def blocks(path: Path) -> Iterator[Block]:
    for text in path.read_text("utf-8").strip().split("\n\n"):
        lines = [line.rstrip() for line in text.splitlines()]
        messages = [
            (ROLES[line[:2]], line[2:].strip().replace("\\n", "\n"))
            for line in lines
            if line[:2] in ROLES
        ]
        checks = {sign: [line[1:].strip() for line in lines if line[:1] == sign] for sign in "-+"}
        if messages:
            yield Block(messages, checks["-"], checks["+"])


def judged(block: Block) -> Result:
    """Say the messages one after the other, and compare what is remembered then."""
    clock = FakeClock(BEGINS)
    service = in_process(SCOPE, memory={}, clock=clock)
    for role, text in block.messages:
        body = {"user_id": USER.user, "messages": [{"role": role, "content": text}]}
        request = AppendRequest.model_validate(body)
        service.service.append(
            SCOPE.session("session"), request.messages, user=USER.user, extract="now"
        )
        service.work()
        clock.advance(MINUTE)
    current, earlier = (
        " ".join(
            version.record.content.casefold()
            for version in versions(service.service, USER, superseded=superseded)
        )
        for superseded in (False, True)
    )
    return Result(
        block,
        [words for words in block.private if words.casefold() in f"{current} {earlier}"],
        [words for words in block.known if words.casefold() not in current],
    )


def table(results: dict[str, list[Result]]) -> Table:
    rows: list[list[Cell]] = [
        [
            name,
            len(those),
            sum(not result.leaked for result in those),
            sum(not result.missed for result in those),
        ]
        for name, those in results.items()
    ]
    return Table("Words that are not for the memory", ("file", "blocks", "held", "known"), rows, ())


def main() -> None:
    asking = argparse.ArgumentParser(description=__doc__)
    asking.add_argument("--failing", action="store_true", help="print the blocks that fail")
    options = asking.parse_args()
    results = {path.stem: [judged(block) for block in blocks(path)] for path in FILES}
    if options.failing:
        for result in chain.from_iterable(results.values()):
            if result.leaked or result.missed:
                print(*result.leaked, "|", *result.missed, "|", result.block.messages)
    print(for_terminal(table(results)))


if __name__ == "__main__":
    main()
