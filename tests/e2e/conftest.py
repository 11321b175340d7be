"""One running stack for all tests: a folder and a port of its own, ended with them.
SEARCH=opensearch has it search there.
"""

import os
import subprocess
from collections.abc import Iterator

import pytest

from infra.local.processes import on_its_own
from tests.doubles.openai_api import OpenAIApi
from tests.e2e.stack import Client, Stack, folder_of_its_own
from tests.engines import npm, opensearch

SUMMARY = "Sarah from Marketing asks about remote work; she has form HR-101."


FIRST = ("test_with_a_model.py", "test_with_a_model_memory.py", "test_reindex.py")
"""With a model first, so that the stack is brought up to date for the one without but once; then
what walks through everything that is stored: with what all other tests store that takes minutes.
"""


WARNED = ("default::ResourceWarning", "default::pytest.PytestUnraisableExceptionWarning")
"""A stack is driven by many clients of AWS, and their pools of connections end with the process. In
other tests an open socket is an error.
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for warning in WARNED:
            item.add_marker(pytest.mark.filterwarnings(warning))
    items.sort(
        key=lambda item: FIRST.index(item.path.name) if item.path.name in FIRST else len(FIRST)
    )


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
        yield stack  # whoever is the first to use it says whether with a model, and starts it
    finally:
        stack.kill()
        on_its_own(subprocess.Popen(["rm", "-rf", stack.folder]))  # nobody waits for that


@pytest.fixture
def stack(running: Stack) -> Stack:
    """The stack without a key for a model."""
    running.use_model(wanted=False)
    return running


@pytest.fixture
def call(stack: Stack) -> Client:
    """A tenant that no other test knows."""
    return stack.client()
