"""Judges a storm: what was lost, doubled or out of order, and when everything was quiet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.storm.talk import Course, Session

QUIET_SECONDS = 180


@dataclass(slots=True)
class Verdict:
    """The result of a storm. Times are seconds after its end: `quiet_after` until the work was
    done, `empty_after` until also the messages of killed functions were gone. `unfinished` is the
    work that was left after `QUIET_SECONDS`.
    """

    acknowledged: int = 0
    stored: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    out_of_order: list[str] = field(default_factory=list)
    contexts: int = 0
    bad_contexts: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)
    quiet_after: float | None = None
    empty_after: float | None = None

    @property
    def faults(self) -> list[str]:
        """Return what did not hold, in words. A hidden message counts as work that is not done,
        because nobody can see whether it is.
        """
        wrong = {
            "lost": self.lost,
            "doubled": self.doubled,
            "never sent": self.unknown,
            "conversations out of order": self.out_of_order,
            "contexts invalid or over the budget": self.bad_contexts,
        }
        faults = [f"{len(texts)} {name}" for name, texts in wrong.items() if texts]
        if self.unfinished or not _in_time(self.quiet_after):
            faults.append("work not done within three minutes")
        if not _in_time(self.empty_after):
            faults.append("messages still hidden after three minutes")
        return faults

    @property
    def holds(self) -> bool:
        return not self.faults


def _in_time(after: float | None) -> bool:
    return after is not None and after <= QUIET_SECONDS


def judge(verdict: Verdict, session: Session, stored: Sequence[str]) -> None:
    """Add one session to the verdict. `stored` are all texts of its history, in its order.

    A text whose call had no answer may be there once or not at all.
    """
    counts = Counter(stored)
    verdict.acknowledged += len(session.acknowledged)
    verdict.stored += len(stored)
    verdict.lost += [text for text in session.acknowledged if not counts[text]]
    verdict.doubled += [text for text, count in counts.items() if count > 1]
    known = {*session.acknowledged, *session.open}
    verdict.unknown += [text for text in counts if text not in known]
    places = {text: place for place, text in enumerate(stored)}
    order = [places[text] for text in session.acknowledged if text in places]
    if order != sorted(order):
        verdict.out_of_order.append(session.name)


def add_contexts(verdict: Verdict, courses: Iterable[Course]) -> None:
    for course in courses:
        verdict.contexts += course.contexts
        verdict.bad_contexts += course.bad_contexts
