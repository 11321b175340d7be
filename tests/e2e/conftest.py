"""One running stack for all tests: a folder and a port of its own, ended with them. SEARCH=opensearch has it search
there.
"""

import os
import subprocess
from collections.abc import Iterator

import pytest

from tests.doubles.openai_api import OpenAIApi
from tests.e2e.stack import Client, Stack, folder_of_its_own
from tests.engines import npm, opensearch

SUMMARY = "Sarah from Marketing asks about remote work; she has form HR-101."


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What walks through everything that is stored comes first: with what all other tests store it takes minutes."""
    items.sort(key=lambda item: item.path.name != "test_reindex.py")


@pytest.fixture(scope="session")
def openai_api() -> Iterator[OpenAIApi]:
    """The model that the stack asks when it has a key for one."""
    with OpenAIApi(answer=lambda _: SUMMARY) as running:
        yield running


@pytest.fixture(scope="session")
def running(openai_api: OpenAIApi) -> Iterator[Stack]:
    if (reason := opensearch.missing()) and os.environ.get("SEARCH") == "opensearch":
        pytest.fail(reason) if npm.required() else pytest.skip(reason)
    stack = Stack(folder_of_its_own(), openai_api.base_url)
    try:
        stack.start()
        yield stack
    finally:
        stack.kill()
        subprocess.Popen(["rm", "-rf", stack.folder])  # nobody waits for that


@pytest.fixture
def stack(running: Stack) -> Stack:
    """The stack without a key for a model."""
    running.use_model(wanted=False)
    return running


@pytest.fixture
def call(stack: Stack) -> Client:
    """A tenant that no other test knows."""
    return stack.client()


@pytest.fixture
def warm(stack: Stack) -> None:
    """The functions that jobs need have started: so a job ends while one waits for it, however busy the machine."""
    call = stack.client()
    call.job(call.overflow("warm-up"))
    call.job(call("DELETE", "/v1/sessions/warm-up").json["job_id"])
