"""The extraction of conversations: what works behind the queue `extract`, and what begins it again."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.clock import Clock
from palimpsest.context.blocks.reader import stores
from palimpsest.conversations.overflow.flush import FlushWindow, then_flush
from palimpsest.conversations.overflow.summarize import GiveUpOverflow
from palimpsest.conversations.ports import Sessions
from palimpsest.conversations.schedule import ExtractionSchedule
from palimpsest.extraction.commit import Steps
from palimpsest.extraction.failures import GiveUpExtraction, RestartExtraction, RetryExtraction
from palimpsest.extraction.ports import Extractor
from palimpsest.extraction.schedule import RequestExtraction
from palimpsest.extraction.step import ExtractChunk
from palimpsest.jobs.ports import Jobs
from palimpsest.memory.ports import Memories
from palimpsest.memory.records import Record
from palimpsest.memory.remember import Remember
from palimpsest.memory.statements import Near
from palimpsest.tenants.ports import Tenants
from palimpsest.text.comparing import says_the_same
from palimpsest.workers.router import Handling, Router


@dataclass(frozen=True, slots=True)
class ExtractionWork:
    """The step, what happens when it fails for the last time, how it is tried again, and what the sweep does; `queue`
    is what works behind the queue: the steps, and the flush of windows that waits for them.
    """

    step: ExtractChunk
    give_up: GiveUpExtraction
    retry: RetryExtraction
    restart: RestartExtraction
    queue: Router


def _says_the_same(one: Record, other: Record) -> bool:
    return says_the_same(one.content, other.content)


def wire_extraction(
    *,
    sessions: Sessions,
    jobs: Jobs,
    memories: Memories,
    tenants: Tenants,
    extractor: Extractor,
    clock: Clock,
    near: Near = _says_the_same,
) -> ExtractionWork:
    """The extraction over any adapters. `near` says which statements of a topic say the same."""
    steps = Steps(sessions, jobs, memories, clock)
    retry = RetryExtraction(steps)
    give_up = GiveUpExtraction(steps, extractor)
    request = RequestExtraction(sessions, ExtractionSchedule(jobs), clock)
    remember = Remember(memories, tenants, clock, near=near)
    step = ExtractChunk(steps, remember, extractor, request, retry)
    flush = FlushWindow(sessions, jobs, stores(memories), clock)
    queue = Router(
        {
            "extract": Handling(then_flush(step, flush), then_flush(give_up, flush)),
            "flush": Handling(flush, GiveUpOverflow(sessions, jobs, clock)),
        }
    )
    return ExtractionWork(step, give_up, retry, RestartExtraction(steps, retry, give_up), queue)
