"""Counts the questions whose answers are still in the context after their turns left the window.

python -m benchmarks.summaries.run [--set FOLDER] [--failing] [--show CONVERSATION]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from palimpsest.clock import FakeClock
from palimpsest.conversations.drafts import Draft
from palimpsest.scope import Scope
from palimpsest_local.in_process import in_process

from benchmarks.report import Table, for_terminal
from benchmarks.summaries.form import OURS, Conversation, Question, load

TENANT = Scope("summaries")
MOST = 1_000
"""The tokens of the window. A conversation has 1,500 to 2,500, and a summary may have 250."""
SECONDS = 20
HALVES = (False, True)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A question whose turn has left the window, and whether the context answers the question."""

    conversation: Conversation
    question: Question
    answered: bool


def context_of(conversation: Conversation) -> tuple[str, int]:
    """Return the text of the context after the conversation, which is made without a model, and the
    number of the first turn that its window shows whole.
    """
    clock = FakeClock(conversation.turns[0].at)
    memory = {"strategy": "summarize", "max_tokens": MOST, "memory_as": "none", "blocks": []}
    made = in_process(TENANT, memory=memory, clock=clock)
    session = TENANT.session(conversation.id)
    ends: list[int] = []
    for turn in conversation.turns:
        clock.advance(max(0.0, (turn.at - clock.now()).total_seconds()))
        for message in turn.messages:
            chat = message.model_dump(exclude_none=True)
            made.service.append(
                session, [Draft(chat)], user="reader", extract="never", allow_repeat=True
            )
            made.work()
            clock.advance(SECONDS)
        ends.append((ends[-1] if ends else 0) + len(turn.messages))
    context = made.service.context(session)
    shown = set(context.fitted.seqs)
    first = next(number for number, end in enumerate(ends, 1) if end in shown)
    return "\n".join(str(chat.get("content") or "") for chat in context.messages), first


def outcomes(conversations: Sequence[Conversation]) -> list[Outcome]:
    answers: list[Outcome] = []
    for conversation in conversations:
        text, first = context_of(conversation)
        answers += [
            Outcome(conversation, question, question.is_answered_by(text))
            for question in conversation.questions
            if question.turn < first
        ]
    return answers


def table(results: Sequence[Outcome]) -> Table:
    """Return the share of questions that the context answers, by half and by the kind of the
    question.
    """
    halves = {"open": (False,), "held out": (True,), "all": HALVES}
    rows = [
        [
            name,
            _share([result for result in results if result.conversation.held_out in which]),
            _share(_asking(results, which, for_a_day=False)),
            _share(_asking(results, which, for_a_day=True)),
        ]
        for name, which in halves.items()
    ]
    return Table(
        "Summaries, without a model: answers still in the context",
        ("conversations", "answered", "words as they were said", "days said in relative words"),
        rows,
        (
            (
                f"20 conversations of 60 turns, a window of {MOST:,} tokens, 10 questions each. All "
                "turns with answers have left the window."
            ),
            "A question is answered if the context contains all words of its answer.",
        ),
    )


def _asking(
    results: Sequence[Outcome], halves: Sequence[bool], *, for_a_day: bool
) -> list[Outcome]:
    return [
        result
        for result in results
        if result.conversation.held_out in halves and result.question.asks_for_a_day == for_a_day
    ]


def _share(results: Sequence[Outcome]) -> str:
    answered = sum(result.answered for result in results)
    return f"{answered / max(1, len(results)):.3f} ({answered}/{len(results)})"


def tables() -> list[Table]:
    return [table(outcomes(load(OURS)))]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.summaries.run", description=__doc__)
    parser.add_argument("--set", type=Path, default=OURS, help="another folder of conversations")
    parser.add_argument(
        "--failing",
        action="store_true",
        help="list what is not answered, without the held-out half",
    )
    parser.add_argument("--show", help="print the context of this conversation")
    options = parser.parse_args()
    conversations = load(options.set)
    if options.show:
        print(
            *(
                context_of(conversation)[0]
                for conversation in conversations
                if conversation.id == options.show
            )
        )
        return
    results = outcomes(conversations)
    print(for_terminal(table(results)))
    if options.failing:
        for result in results:
            if not (result.answered or result.conversation.held_out):
                print(
                    result.conversation.id,
                    result.question.turn,
                    *result.question.answers,
                    sep=" | ",
                )


if __name__ == "__main__":
    main()
