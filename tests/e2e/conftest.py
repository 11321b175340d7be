"""One running stack for all tests: a folder and a port of its own, ended with them."""

from collections.abc import Iterator

import pytest

from tests.doubles.openai_api import OpenAIApi
from tests.e2e.stack import Client, Stack

SUMMARY = "Sarah from Marketing asks about remote work; she has form HR-101."


@pytest.fixture(scope="session")
def openai_api() -> Iterator[OpenAIApi]:
    """The model that the stack asks when it has a key for one."""
    with OpenAIApi(answer=lambda _: SUMMARY) as running:
        yield running


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory, openai_api: OpenAIApi) -> Iterator[Stack]:
    stack = Stack(tmp_path_factory.mktemp("stack"), openai_api.base_url)
    try:
        stack.start()
        yield stack
    finally:
        stack.kill()


@pytest.fixture
def stack(running: Stack) -> Stack:
    """The stack without a key for a model."""
    running.use_model(wanted=False)
    return running


@pytest.fixture
def call(stack: Stack) -> Client:
    """A tenant that no other test knows."""
    return stack.client()
