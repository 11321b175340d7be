"""Prints what 200 turns cost: the tokens sent, the share that a prompt cache can serve, and whether
what was needed was there.

python -m benchmarks.prompt.run [--turns N]
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from benchmarks.prompt.conversation import TURNS
from benchmarks.prompt.measure import PRICES, Measured
from benchmarks.prompt.ours import measured
from benchmarks.report import Cell, Table, for_terminal, load, machine

WINDOW = 6_000
DEFAULTS = 100_000
STRATEGIES: Mapping[str, Mapping[str, Any]] = {
    "summarize": {"strategy": "summarize"},
    "trim": {"strategy": "trim", "max_memory_tokens": 5_000},
    "delete": {"strategy": "delete"},
    "flush": {"strategy": "flush"},
}
PLACES = ("user", "system", "tool_call", "none")
COLUMNS = (
    "memory, budget",
    "tokens sent",
    "common beginning",
    "needed and there",
    "misled",
    "over budget",
    *(
        f"{price.model}, {with_cache}"
        for price in PRICES
        for with_cache in ("no cache", "with cache")
    ),
)


def row(name: str, sums: Measured) -> list[Cell]:
    """A line of the table."""
    return [
        name,
        sums.tokens,
        f"{sums.share:.3f}",
        f"{sums.found}/{sums.needed}",
        sums.misled,
        sums.over_budget,
        *(
            f"${sums.dollars(price, with_cache=with_cache):.3f}"
            for price in PRICES
            for with_cache in (False, True)
        ),
    ]


def ours(turns: int) -> dict[str, Measured]:
    """Every strategy, and every place of the memory."""
    made = {"Palimpsest, defaults": measured({}, budget=DEFAULTS, turns=turns)}
    for name, memory in STRATEGIES.items():
        made[f"Palimpsest, {name}, {WINDOW:,}"] = measured(memory, budget=WINDOW, turns=turns)
    for place in PLACES:
        name = f"Palimpsest, summarize, memory_as {place}, {WINDOW:,}"
        made[name] = measured({"memory_as": place}, budget=WINDOW, turns=turns)
    return made


def tables(turns: int = TURNS) -> list[Table]:
    """The table of all memories that are measured here."""
    rows = [row(name, sums) for name, sums in ours(turns).items()]
    return [
        Table(
            f"Prompt: {turns} turns, 12 memories, a change every tenth turn, a question about the "
            "past every fourth",
            COLUMNS,
            rows,
            (
                (
                    "Common beginning: the tokens of each context that are the beginning of the one "
                    "before, as a share of all tokens after the first context."
                ),
                "Misled: an outdated value stands after the valid one, or in its place.",
                (
                    "Prices: input only, at list prices; a beginning below 1,024 tokens is not cached, "
                    "and writing to a cache costs nothing here."
                ),
            ),
        )
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prompt.run", description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS, help="fewer turns, for a first look")
    options = parser.parse_args()
    print(f"{machine()}, load average {load()}\n")
    for each in tables(options.turns):
        print(for_terminal(each))


if __name__ == "__main__":
    main()
