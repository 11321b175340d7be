"""Tells pytest which stores the suite is run on. In a run that names no stores, it does nothing."""

from __future__ import annotations

import pytest

OPTION, MEMORY_STORE = "--palimpsest-stores", "--palimpsest-memory-store"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        OPTION,
        metavar="MODULE:FUNCTION",
        help="A function that makes empty palimpsest.stores.OwnStores, for the suite"
        " palimpsest_testing.",
    )

    parser.addoption(
        MEMORY_STORE,
        metavar="MODULE:FUNCTION",
        help="A function that makes an empty palimpsest.stores.MemoryStore. The "
        "suite then runs only the tests of that store.",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests for the kind of store that was named: for whole stores, or for a store of
    memories alone.
    """
    wants_memory_store = bool(config.getoption(MEMORY_STORE))
    left_out = [
        item
        for item in items
        if _is_of_suite(item) and _is_of_memory_store(item) != wants_memory_store
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def _is_of_suite(item: pytest.Item) -> bool:
    return item.nodeid.find("palimpsest_testing") >= 0


def _is_of_memory_store(item: pytest.Item) -> bool:
    return "memory_store" in getattr(item, "fixturenames", ())


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "not_in_process: needs a store that threads share")
