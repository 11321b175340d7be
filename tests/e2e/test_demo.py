import re

import pytest

from examples.demo.conversation import POLICY
from tests.e2e.stack import Stack

pytestmark = pytest.mark.e2e


def test_the_demo_shows_a_window_overflow_and_unfold_and_a_user_remembered(stack: Stack) -> None:
    before = [each.tenant for each in stack.keys.list()]
    shown = stack.run("examples.demo")
    assert [each.tenant for each in stack.keys.list()] == before
    for table in ("SessionsTable", "MemoriesTable", "TenantsTable"):
        pages = (
            stack.place.client("dynamodb")
            .get_paginator("scan")
            .paginate(TableName=stack.outputs[table])
        )
        left = [
            str(item)
            for page in pages
            for item in page["Items"]
            if item["pk"]["S"].startswith("demo-")
        ]
        assert not [item for item in left if "Marketing" in item or "manager" in item]
    assert "\x1b" not in shown  # nobody watches: no colours
    bars = re.findall(r"^window +\[([=#.|]{50})\] +(\d+)/500 tokens", shown, re.MULTILINE)
    assert len(bars) >= 12
    assert bars[0][0].startswith("####")
    assert bars[-1][0].startswith("====")
    assert all(int(tokens) <= 500 for _, tokens in bars)
    assert shown.count("OVERFLOW") == 2
    assert "(compaction: pending) a context of" in shown
    assert (
        len(
            re.findall(
                r"^committed .* later: messages \d+-\d+ are part of a summary now",
                shown,
                re.MULTILINE,
            )
        )
        == 2
    )
    assert "method extractive" in shown
    assert re.search(
        r"^user +CONVERSATION SUMMARY: User: Hi, I'm Sarah and I work in Marketing\.",
        shown,
        re.MULTILINE,
    )
    assert "the first summary unfolded, messages 1-" in shown
    assert "word for word what was said" in shown
    remembered = shown[shown.index("what leaves the window is remembered") :]
    assert (
        len(re.findall(r"^flushed +messages \d+-\d+ left the window", remembered, re.MULTILINE))
        == 2
    )
    assert re.search(r"^fact +I work in Marketing\.  \[message 1", remembered, re.MULTILINE)
    assert f"- {POLICY[:40]}" in remembered
    assert (
        len(
            re.findall(
                r"^source +\w+, message \d+ of sarah\.miller-first, found by ",
                remembered,
                re.MULTILINE,
            )
        )
        >= 3
    )
    assert "(nothing is known of that)" in remembered
    assert re.search(
        r"^residence version 2, current: I moved to Bremen\.", remembered, re.MULTILINE
    )
    assert re.search(
        r"^residence version 1, superseded: I live in Hamburg\.", remembered, re.MULTILINE
    )
    assert re.search(r"^listed +I moved to Bremen\.$", remembered, re.MULTILINE)
