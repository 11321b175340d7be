"""Tells pytest which stores the suite is run on. It does nothing in a run that names none."""

from __future__ import annotations

import pytest

OPTION = "--palimpsest-stores"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        OPTION,
        metavar="MODULE:FUNCTION",
        help="What makes empty palimpsest.stores.OwnStores, for the suite palimpsest_testing.",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "not_in_process: needs a store that threads share")
