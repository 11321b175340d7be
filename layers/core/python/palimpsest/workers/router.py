"""A worker for several kinds of jobs: it calls the handler of each job's kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from palimpsest.jobs.kinds import JobKind
from palimpsest.jobs.ports import JobNotice

Step = Callable[[JobNotice], None]


class GivesUp(Protocol):
    def __call__(self, notice: JobNotice, *, error: str) -> None:
        """Mark the job as failed, with `error` as its error code."""


@dataclass(frozen=True, slots=True)
class Handling:
    """The handler of one kind of job: `step` does it, `give_up` is called after its last attempt has failed."""

    step: Step
    give_up: GivesUp


class Hide(Protocol):
    def __call__(self, receipt_handle: str, *, seconds: int) -> None:
        """Make the queue deliver the message again after that many seconds."""


@dataclass(frozen=True, slots=True)
class Worker:
    """What a queue's function does with a message: the step, and what happens when it fails."""

    step: Step
    give_up: GivesUp
    hide: Hide


@dataclass(frozen=True, slots=True)
class Router:
    """Both calls raise `KeyError` for a kind without a handler; its message then reaches the dead-letter queue."""

    handlings: Mapping[JobKind, Handling]

    def step(self, notice: JobNotice) -> None:
        self.handlings[notice.kind].step(notice)

    def give_up(self, notice: JobNotice, *, error: str) -> None:
        self.handlings[notice.kind].give_up(notice, error=error)
