"""Prints what 200 turns cost: the tokens sent, the share that a prompt cache can serve, and whether
the needed facts were in the context. It does so for Palimpsest and for other libraries.

python -m benchmarks.prompt.run [--turns N] [--alone]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.prompt import beside
from benchmarks.prompt.conversation import TURNS
from benchmarks.prompt.measure import PRICES, Measured, Price
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
CONTEXTS = (
    "memory, budget",
    "tokens sent",
    "messages a context",
    "common beginning",
    "needed and there",
    "misled",
    "over budget",
)
COSTS = (
    "memory, budget",
    *(
        f"{price.model}, {column}"
        for price in PRICES
        for column in ("no cache", "with cache", "times ours")
    ),
)


@dataclass(frozen=True, slots=True)
class Row:
    """A memory with a budget. Its cost is divided by that of `ours`. `ours` is None if the memory
    sends no conversation, because a ratio would then compare unlike things.
    """

    name: str
    sums: Measured
    ours: Measured | None

    @property
    def complete(self) -> bool:
        """Return whether every needed fact was in the context, and whether no outdated value was
        the last one stated.
        """
        return self.sums.found == self.sums.needed and not self.sums.misled

    def ratio(self, price: Price) -> float | None:
        """Return the memory's cost with a cache, divided by our cost."""
        if self.ours is None:
            return None
        ours = self.ours.dollars(price, with_cache=True)
        return self.sums.dollars(price, with_cache=True) / ours


def tables(turns: int = TURNS, *, alone: bool = False) -> list[Table]:
    """Return the tables of all measured memories. `alone` leaves the other libraries out."""
    whole = list(_whole(turns, alone=alone))
    window = list(_window(turns, alone=alone))
    rows = [*whole, *window]
    if not alone:
        documented = beside.without_the_conversation(WINDOW)
        sums = beside.measured(documented, budget=WINDOW, turns=turns)
        rows.append(Row(documented.name, sums, None))
    notes = (
        ()
        if alone
        else tuple(f"{peer.title} ({peer.versions}): {peer.note}." for peer in beside.PEERS)
    )
    return [
        Table(
            f"Prompt: {turns} turns, 12 memories, a change every tenth turn, a question about the "
            "past every fourth",
            CONTEXTS,
            [_context(row) for row in rows],
            (*CONTEXT_NOTES, *notes),
        ),
        Table(
            f"Prompt: US dollars for the input of these {turns} turns",
            COSTS,
            [_cost(row) for row in rows],
            (*COST_NOTES, *next_to_ours(whole), *next_to_ours(window)),
        ),
    ]


CONTEXT_NOTES = (
    (
        "Common beginning: the tokens of each context that are the beginning of the one before, as "
        "a share of all tokens after the first context."
    ),
    "Misled: an outdated value stands after the valid one, or in its place.",
    (
        "All have the same turns, instructions, token counter (o200k_base) and embedder, under which "
        "a question about a topic is nearest to its memory. No model is called: each is given "
        "the facts, as if its extraction found every one and replaced every outdated one."
    ),
    (
        "Needed and there asks for memories only. Of the turns that leave the window of 6,000 tokens, "
        "ours keeps a summary with `summarize`, and LlamaIndex's vector block brings back some; the "
        "others have nothing of them."
    ),
)
COST_NOTES = (
    (
        "Input only, at list prices; a beginning below 1,024 tokens is not cached, and writing to a "
        "cache costs nothing here. Each library is given the cache that its contexts allow, whether "
        "or not it marks a cache point."
    ),
    (
        "Times ours: the cost with a cache, divided by that of Palimpsest with its defaults, or with "
        f"`summarize` and {WINDOW:,} tokens. No model is called for a summary or for extraction: "
        "their cost is in no row."
    ),
)


def _whole(turns: int, *, alone: bool) -> Iterator[Row]:
    """Yield the rows for a conversation that fits the budget."""
    sums = measured({}, budget=DEFAULTS, turns=turns)
    yield Row("Palimpsest, defaults", sums, sums)
    if not alone:
        yield from _others(DEFAULTS, sums, turns=turns, whole=True)


def _window(turns: int, *, alone: bool) -> Iterator[Row]:
    """Yield the rows for a conversation that does not fit the budget, for every strategy and every
    place of the memory.
    """
    first = measured(STRATEGIES["summarize"], budget=WINDOW, turns=turns)
    yield Row(f"Palimpsest, summarize, {WINDOW:,}", first, first)
    for name in ("trim", "delete", "flush"):
        sums = measured(STRATEGIES[name], budget=WINDOW, turns=turns)
        yield Row(f"Palimpsest, {name}, {WINDOW:,}", sums, first)
    for place in PLACES:
        sums = measured({"memory_as": place}, budget=WINDOW, turns=turns)
        yield Row(f"Palimpsest, summarize, memory_as {place}, {WINDOW:,}", sums, first)
    if not alone:
        yield from _others(WINDOW, first, turns=turns, whole=False)


def _others(budget: int, ours: Measured, *, turns: int, whole: bool) -> Iterator[Row]:
    title = "the whole conversation" if whole else f"{budget:,}"
    for other in beside.configurations(budget, whole=whole):
        sums = beside.measured(other, budget=budget, turns=turns)
        yield Row(f"{other.name}, {title}", sums, ours)


def next_to_ours(rows: Sequence[Row]) -> list[str]:
    """Return a note about the cheapest other library that had all needed facts, by the first
    price.
    """
    ours, *_ = rows
    others = [row for row in rows if row.complete and not row.name.startswith("Palimpsest")]
    if not others:
        return []
    best = min(others, key=lambda row: row.sums.dollars(PRICES[0], with_cache=True))
    ratios = [f"{best.ratio(price):.2f} with {price.model}" for price in PRICES]
    return [f"The next to {ours.name} is {best.name}, at {', '.join(ratios)} times the cost."]


def _context(row: Row) -> list[Cell]:
    sums = row.sums
    return [
        row.name,
        sums.tokens,
        round(sums.messages / max(1, sums.contexts)),
        f"{sums.share:.3f}",
        f"{sums.found}/{sums.needed}",
        sums.misled,
        sums.over_budget,
    ]


def _cost(row: Row) -> list[Cell]:
    cells: list[Cell] = [row.name]
    for price in PRICES:
        ratio = row.ratio(price)
        cells += [
            f"${row.sums.dollars(price, with_cache=False):.3f}",
            f"${row.sums.dollars(price, with_cache=True):.3f}",
            None if ratio is None else f"{ratio:.2f}",
        ]
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prompt.run", description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS, help="fewer turns, for a first look")
    parser.add_argument("--alone", action="store_true", help="without the other libraries")
    options = parser.parse_args()
    print(f"{machine()}, load average {load()}\n")
    for table in tables(options.turns, alone=options.alone):
        print(for_terminal(table), end="\n\n")


if __name__ == "__main__":
    main()
