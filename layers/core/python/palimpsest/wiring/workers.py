"""Builds the workers that the streams, the queues and the schedule start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial

from palimpsest import settings
from palimpsest.clock import Clock, SystemClock
from palimpsest.context.blocks.reader import stores
from palimpsest.conversations.contents import Contents
from palimpsest.conversations.overflow.arm import OverflowJobs
from palimpsest.conversations.overflow.flush import FlushWindow, then_flush
from palimpsest.conversations.overflow.summarize import SummarizeOverflow
from palimpsest.conversations.ports import Blobs, Sessions, Summarizer
from palimpsest.conversations.schedule import ExtractionSchedule
from palimpsest.extraction.commit import Steps
from palimpsest.extraction.failures import GiveUpExtraction, RestartExtraction, RetryExtraction
from palimpsest.extraction.ports import Extractor
from palimpsest.extraction.schedule import RequestExtraction
from palimpsest.extraction.step import ExtractChunk
from palimpsest.graph.manage import GraphLimit
from palimpsest.graph.read import ReadGraph
from palimpsest.jobs.handling import CountedTries, Handling, Router, Worker
from palimpsest.jobs.kinds import KINDS, JobKind, Queue
from palimpsest.jobs.ports import Jobs, KeepsCalls, Queues
from palimpsest.jobs.shares import FairQueues
from palimpsest.jobs.steps import no_calls_kept
from palimpsest.memory.decisions import is_near
from palimpsest.memory.ports import Memories
from palimpsest.memory.remember import Remember
from palimpsest.model_calls.kept import KeepCalls
from palimpsest.models.ports import TokenCounter
from palimpsest.offline.extractor import PatternExtractor, states
from palimpsest.tenants.ports import Tenants
from palimpsest.transfer.files import removed_lately
from palimpsest.wiring.models import metered_model, model_key, token_counter
from palimpsest.wiring.stores import (
    blob_store,
    expiry_store,
    memory_store,
    session_store,
    share_store,
    tenant_store,
    usage_store,
    vector_store,
)
from palimpsest.wiring.sweep import wire_sweep
from palimpsest.workers.dispatch import Dispatch
from palimpsest.workers.sweep import Sweep


def wire_summarize(
    *,
    sessions: Sessions,
    jobs: Jobs,
    summarizer: Summarizer,
    tokens: TokenCounter,
    clock: Clock,
    models: tuple[str, ...] | None = None,
    keeps_calls: KeepsCalls = no_calls_kept,
) -> Handling:
    step = SummarizeOverflow(sessions, jobs, summarizer, tokens, clock, models, keeps_calls)
    return Handling(step, OverflowJobs(sessions, jobs, clock).give_up)


@dataclass(frozen=True, slots=True)
class ExtractionWork:
    """The parts of extraction. `step` does an extraction, `give_up` marks a job as failed for good,
    `retry` serves a caller's request, and `restart` serves the sweep. `queue` is the worker of the
    queue `extract`, which also does the flushes that wait for an extraction.
    """

    step: ExtractChunk
    give_up: GiveUpExtraction
    retry: RetryExtraction
    restart: RestartExtraction
    queue: Router


def wire_extraction(
    *,
    sessions: Sessions,
    jobs: Jobs,
    memories: Memories,
    tenants: Tenants,
    extractor: Extractor,
    clock: Clock,
    blobs: Blobs | None = None,
) -> ExtractionWork:
    """Build extraction over any adapters. Without `blobs` only stored messages are extracted."""
    steps = Steps(
        sessions, jobs, memories, clock, Contents(blobs, jobs, clock) if blobs is not None else None
    )
    retry = RetryExtraction(steps)
    give_up = GiveUpExtraction(steps, extractor)
    request = RequestExtraction(sessions, ExtractionSchedule(jobs), clock)
    remember = Remember(memories, tenants, clock, near=is_near)
    graphs = ReadGraph(memories, clock)
    step = ExtractChunk(
        steps,
        remember,
        extractor,
        request,
        retry,
        graphs,
        GraphLimit(memories),
        states,
        no_calls_kept if blobs is None else keeping_calls(blobs, tenants, clock),
    )
    flush = FlushWindow(sessions, jobs, stores(memories), clock)
    queue = Router(
        {
            "extract": Handling(then_flush(step, flush), then_flush(give_up, flush)),
            "flush": Handling(flush, OverflowJobs(sessions, jobs, clock).give_up),
        }
    )
    return ExtractionWork(step, give_up, retry, RestartExtraction(steps, retry, give_up), queue)


def keeping_calls(blobs: Blobs, tenants: Tenants, clock: Clock) -> KeepCalls:
    """Return the recorder of workers' model calls, for tenants that want these kept."""
    return KeepCalls(blobs, tenants, clock, partial(removed_lately, blobs, clock))


def queue_urls(environment: settings.JobQueueSettings, *, without: str = "") -> dict[JobKind, str]:
    """Return the URL of the queue for each kind of job. `without` is the URL for kinds that have no
    queue in this stage.
    """
    urls: dict[Queue, str] = {
        "summarize": environment.summarize_queue_url,
        "extract": environment.extract_queue_url,
        "sweep": environment.sweep_queue_url,
        "reindex": environment.reindex_queue_url or without,
    }
    return {kind: urls[listed.queue] for kind, listed in KINDS.items()}


@cache
def dispatcher() -> Dispatch:
    environment = settings.DispatchSettings.read()
    from palimpsest.engines.aws.events import EventBridge
    from palimpsest.engines.aws.queues import SqsQueues
    from palimpsest.engines.dynamodb.streams import stream_record

    parked = environment.parked_queue_url
    urls = queue_urls(environment, without=parked)
    changes, events = environment.embed_queue_url or parked, environment.events_queue_url
    queues = SqsQueues(urls, changes_url=changes, events_url=events, parked_url=parked)
    bus, indexes = EventBridge(environment.event_bus), bool(environment.embed_queue_url)
    usages = usage_store(environment.sessions_table)
    _, jobs = session_store(environment.sessions_table)
    return Dispatch(
        fair(queues, environment, jobs), read=stream_record, bus=bus, usages=usages, indexes=indexes
    )


@cache
def summarize_worker() -> Worker:
    environment = settings.SummarizeSettings.read()
    from palimpsest.conversations.overflow.model_summary import ModelSummarizer, Summaries
    from palimpsest.offline.summarizer import ExtractiveSummarizer

    tokens = token_counter()
    summarizer = Summaries(
        key=model_key(environment),
        model=ModelSummarizer(metered_model(environment), tokens),
        offline=ExtractiveSummarizer(tokens),
    )
    sessions, jobs = session_store(environment.sessions_table)
    work = wire_summarize(
        sessions=sessions,
        jobs=jobs,
        summarizer=summarizer,
        tokens=tokens,
        clock=SystemClock(),
        models=environment.models,
        keeps_calls=keeping_calls(
            blob_store(environment.contents_bucket),
            tenant_store(environment.tenants_table),
            SystemClock(),
        ),
    )
    return _worker(work, "summarize", environment, url=environment.summarize_queue_url, jobs=jobs)


@cache
def extract_worker() -> Worker:
    environment = settings.ExtractSettings.read()
    from palimpsest.extraction.model import Extractors, ModelExtractor

    model = ModelExtractor(metered_model(environment), token_counter())
    key = model_key(environment)
    sessions, jobs = session_store(environment.sessions_table)
    work = wire_extraction(
        sessions=sessions,
        jobs=jobs,
        memories=memory_store(environment.memories_table, environment.sessions_table),
        tenants=tenant_store(environment.tenants_table),
        extractor=Extractors(key=key, model=model, offline=PatternExtractor()),
        clock=SystemClock(),
        blobs=blob_store(environment.contents_bucket),
    )
    return _worker(work.queue, "extract", environment, url=environment.extract_queue_url, jobs=jobs)


@cache
def remove_worker() -> Worker:
    work, sweep = _sweep()
    environment = settings.SweepSettings.read()
    return _worker(work, "sweep", environment, url=environment.sweep_queue_url, jobs=sweep.jobs)


@cache
def sweeper() -> Sweep:
    return _sweep()[1]


@cache
def _sweep() -> tuple[Router, Sweep]:
    environment = settings.SweepSettings.read()
    from palimpsest.engines.aws.queues import SqsQueues
    from palimpsest.models.tiktoken_counter import TiktokenCounter

    sessions, jobs = session_store(environment.sessions_table)
    memories = memory_store(environment.memories_table, environment.sessions_table)
    queues = SqsQueues(queue_urls(environment), changes_url=environment.embed_queue_url)
    return wire_sweep(
        sessions=sessions,
        jobs=jobs,
        memories=memories,
        expiries=expiry_store(environment.memories_table),
        tenants=tenant_store(environment.tenants_table),
        blobs=blob_store(environment.contents_bucket),
        vectors=vector_store(environment.memories_table),
        usages=usage_store(environment.sessions_table),
        tokens=TiktokenCounter(),  # whose tables are read when an import first counts
        clock=SystemClock(),
        queues=fair(queues, environment, jobs, heals=True),
        is_indexed=bool(environment.embed_queue_url),
    )


def _worker(
    work: Handling | Router,
    queue: Queue,
    environment: settings.SharedQueueSettings,
    *,
    url: str,
    jobs: Jobs,
) -> Worker:
    from palimpsest.engines.aws.queues import SqsQueues, SqsVisibility

    own = SqsQueues({kind: url for kind, listed in KINDS.items() if listed.queue == queue})
    free_place = fair(own, environment, jobs).free_place
    return Worker(
        work.step,
        work.give_up,
        SqsVisibility(url).hide,
        CountedTries(jobs, SystemClock()),
        free_place,
    )


def fair(
    queues: Queues, environment: settings.SharedQueueSettings, jobs: Jobs, *, heals: bool = False
) -> FairQueues:
    """Return queues in which no tenant has more jobs at once than its share."""
    shares = share_store(environment.sessions_table)
    return FairQueues(queues, shares, jobs, environment.tenant_jobs_at_once, SystemClock(), heals)
