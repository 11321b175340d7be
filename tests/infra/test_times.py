"""Times that must nest: whoever waits inside gives up before whoever waits around it."""

import pytest
from palimpsest.api.call import LONGEST
from palimpsest.api.fields import LONGEST_WAIT
from palimpsest.engines.opensearch.index import BULK_SECONDS
from palimpsest.jobs.attempts import FIRST_ATTEMPTS, retry_delay
from palimpsest.jobs.job import LEASE_SECONDS
from palimpsest.jobs.kinds import KINDS
from palimpsest.models.openai.chat import TIMEOUT_SECONDS
from palimpsest.models.openai.embeddings import SECONDS as EMBEDDING_SECONDS
from palimpsest.recall.answer import MODEL_SECONDS
from palimpsest.recall.find import SEARCH_SECONDS
from palimpsest.retry import PATIENCE
from palimpsest.search import rebuild as reindex
from palimpsest.search.rebuild import SETTLING, STEP
from palimpsest.workers.batches import AFTER_THE_END, LONGEST_BACKOFF, LONGEST_RETRY_AFTER

from tests.infra.conftest import Template

GATEWAY_SECONDS = 30
SWEEP_SECONDS, THREE_MINUTES = 60, 180


@pytest.mark.parametrize("function", ["summarize", "extract"])
def test_a_model_call_its_repair_and_the_commit_end_before_their_function_does(
    prod: Template, function: str
) -> None:
    assert 2 * TIMEOUT_SECONDS + PATIENCE.total_seconds() < prod.functions()[function]["Timeout"]


def test_a_worker_whose_lease_has_passed_is_gone_and_its_job_is_begun_again_within_three_minutes(
    prod: Template,
) -> None:
    queued = [prod.functions()[listed.queue]["Timeout"] for listed in KINDS.values()]
    assert max(queued) < LEASE_SECONDS
    assert LEASE_SECONDS + SWEEP_SECONDS < THREE_MINUTES


def test_work_is_tried_again_within_three_minutes_after_a_failure_has_ended(prod: Template) -> None:
    """A killed worker's messages, a failed job in its first hour, a job whose model asked for a
    pause, and a change that the index refused.
    """
    queued = {*(listed.queue for listed in KINDS.values()), "embed"}
    held = max(prod.functions()[queue]["Timeout"] for queue in queued) + AFTER_THE_END
    failed = max(map(retry_delay, range(FIRST_ATTEMPTS))) + SWEEP_SECONDS
    assert max(held, failed, LONGEST_RETRY_AFTER, LONGEST_BACKOFF + 1) < THREE_MINUTES


def test_an_answer_and_the_search_before_it_come_before_function_and_gateway_give_up(
    prod: Template,
) -> None:
    assert (
        SEARCH_SECONDS + MODEL_SECONDS < prod.functions()["memories"]["Timeout"] < GATEWAY_SECONDS
    )


def test_a_step_of_reindexing_and_one_page_more_end_before_their_function_does(
    prod: Template,
) -> None:
    page = (
        reindex.TRIES * (EMBEDDING_SECONDS + BULK_SECONDS) + EMBEDDING_SECONDS
    )  # the last asks for any vector at all
    assert STEP.total_seconds() + page < prod.functions()["reindex"]["Timeout"]
    assert STEP.total_seconds() > SETTLING


def test_the_longest_wait_is_answered_before_function_and_gateway_give_up(prod: Template) -> None:
    assert LONGEST_WAIT < LONGEST < prod.functions()["sessions"]["Timeout"] < GATEWAY_SECONDS


def test_an_append_among_many_writers_gives_up_before_its_function_does(prod: Template) -> None:
    assert 2 * PATIENCE.total_seconds() < prod.functions()["sessions"]["Timeout"]
