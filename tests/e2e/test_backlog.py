"""The backlog of one tenant, and another tenant who says one sentence."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.e2e.stack import Client, Stack, eventually

pytestmark = pytest.mark.e2e
BACKLOG, SHARE = 30, 4
"""A tenant has `SHARE` jobs in a queue at a time."""


@pytest.fixture
def extraction(stack: Stack) -> Iterator[Any]:
    """The mapping from the queue to the function that extracts, which goes on at the end of the
    test.
    """
    lambdas = stack.place.client("lambda")
    found = lambdas.list_event_source_mappings(FunctionName=stack.outputs["ExtractFunction"])[
        "EventSourceMappings"
    ]
    yield lambda *, goes_on: lambdas.update_event_source_mapping(
        UUID=found[0]["UUID"], Enabled=goes_on
    )
    lambdas.update_event_source_mapping(UUID=found[0]["UUID"], Enabled=True)


def ingested(call: Client, user: str) -> str:
    """The id of the job of one sentence."""
    messages = [{"role": "user", "content": "I live in Porto."}]
    answer = call("POST", f"/v1/users/{user}/ingest", {"messages": messages})
    assert answer.status == 202, answer.text
    job_id: str = answer.json["job_id"]
    return job_id


def test_a_tenants_backlog_holds_up_no_other_tenants_sentence(
    stack: Stack, call: Client, extraction: Any
) -> None:
    other, begun = stack.client(), time.time()
    extraction(goes_on=False)
    with ThreadPoolExecutor(4) as threads:
        backlog = list(threads.map(lambda number: ingested(call, f"user-{number}"), range(BACKLOG)))
    eventually(lambda: stack.waiting("ExtractQueueUrl") >= SHARE)  # the sweep may send again
    sentence = ingested(other, "sarah")
    eventually(lambda: stack.waiting("ExtractQueueUrl") > SHARE)
    extraction(goes_on=True)
    assert other.job(sentence)["state"] == "done"
    assert {call.job(job_id)["state"] for job_id in backlog} == {"done"}
    done = [line for line in stack.logs("Extract", since=begun) if "job step done" in line]
    place = next(number for number, line in enumerate(done) if sentence in line)
    assert place < 3 * SHARE, "the sentence waited for the backlog"
