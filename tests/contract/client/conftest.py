"""The client over HTTP: one service in this process, empty for each test."""

from collections.abc import Iterator
from pathlib import Path

import palimpsest_client.calls
import pytest
from palimpsest_client import Palimpsest

from tests.doubles.meanings import Meanings
from tests.served import KEY, Served

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(palimpsest_client.calls, "FIRST_PAUSE", 0.001)


@pytest.fixture(scope="session")
def _running() -> Iterator[Served]:
    with Served() as running:
        yield running


@pytest.fixture
def served(_running: Served) -> Served:
    _running.begin_anew()
    return _running


@pytest.fixture
def memory(served: Served) -> Iterator[Palimpsest]:
    with Palimpsest(served.url, KEY) as client:
        yield client


@pytest.fixture
def with_vectors() -> Iterator[Served]:
    """A service that compares meanings, too."""
    with Served(embedder=Meanings()) as running:
        yield running
