"""A request that nobody traces does nearly nothing for it."""

from __future__ import annotations

import sys
from collections import Counter
from types import FrameType
from typing import Any

from palimpsest import tracing

from tests.unit.api.gateway import Client


def test_while_off_an_append_calls_almost_nothing_of_it(call: Client) -> None:
    """Of the calls that an append takes, less than one in 100 is one of tracing."""
    call.append("s", "The first message loads what is loaded once.")
    calls: Counter[bool] = Counter()

    def count(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            calls[frame.f_code.co_filename == tracing.__file__] += 1

    sys.setprofile(count)
    try:
        answer = call.append("s", "The next one is counted.")
    finally:
        sys.setprofile(None)
    assert answer.status == 201
    assert 0 < calls[True] < calls[False] / 100
