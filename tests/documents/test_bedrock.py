"""The prices on the page about Bedrock are those that the service counts with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from palimpsest.models.catalogue import NANO_USD, RERANKED, cost

from infra import paths
from infra.bedrock import RERANKERS

PAGE = (paths.PROJECT / "docs" / "bedrock.md").read_text(encoding="utf-8")
RESULTS = (paths.PROJECT / "benchmarks" / "results.md").read_text(encoding="utf-8")
COUNTED = RESULTS.partition("## Cost of 1,000 turns, with a model")[2].partition("\n## ")[0]
MILLION = 1_000_000


def rows(columns: int) -> list[list[str]]:
    """The rows of the page's tables with so many columns, without code marks."""
    lines = [line for line in PAGE.splitlines() if line.startswith("|")]
    split = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines]
    return [
        row for row in split if len(row) == columns and re.search(r"\d\.\d\d", row[-1] + row[-2])
    ]


def tokens(stage: str, column: int) -> int:
    """A count of tokens in the table of costs."""
    (row,) = [line.split("|") for line in COUNTED.splitlines() if line.startswith(f"| {stage} |")]
    return int(row[column].replace(",", ""))


@pytest.mark.parametrize("row", rows(5), ids=lambda row: row[0])
def test_a_models_price_is_the_catalogues(row: list[str]) -> None:
    model, *_, price_in, price_out = row
    for told, counted in ((price_in, (MILLION, 0)), (price_out, (0, MILLION))):
        price = cost(model, tokens_in=counted[0], tokens_out=counted[1])
        assert price is not None
        assert round(float(told or 0) * NANO_USD) == price


def test_a_rerankers_price_and_name_are_the_catalogues_and_the_stacks() -> None:
    found = {row[0]: (row[1], round(float(row[3]) * NANO_USD)) for row in rows(4)}
    assert found == {kind: (name, RERANKED[name]) for kind, name in RERANKERS.items()}


@pytest.mark.parametrize("row", rows(3), ids=" ".join)
def test_the_cost_of_1000_turns_is_worked_out_from_the_counted_tokens(row: list[str]) -> None:
    chat = {"tokens_in": 0, "tokens_out": 0}
    for stage in ("summarize", "extract"):
        chat["tokens_in"] += tokens(stage, 8)
        chat["tokens_out"] += tokens(stage, 9)
    read = sum(tokens(stage, 8) for stage in ("context", "recall", "embed"))
    chatting = cost(row[0], **chat)
    embedding = cost(row[1], tokens_in=read, tokens_out=0)
    assert chatting is not None
    assert embedding is not None
    assert f"{(chatting + embedding) / NANO_USD:.2f}" == row[2]


def test_the_page_on_the_catalogue_is_there() -> None:
    assert len(rows(5)) == 5
    assert len(rows(3)) == 4
    assert Path(paths.PROJECT / "tests" / "doubles" / "bedrock.py").is_file()
