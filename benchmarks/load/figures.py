"""The tables of append and context, which show the cost of a call as the conversation grows."""

from collections.abc import Callable, Mapping

from benchmarks.conversation import WINDOW, said
from benchmarks.load.growth import FOLDED_AT, LIBRARY, Sized
from benchmarks.measure import Cost, exponent
from benchmarks.report import Cell, Table, growth, shown

Figures = Mapping[int, Sized]
ROOM = "append, making room"


def append_table(figures: Figures) -> Table:
    rows = [
        _cost(figures, "CPU ms, request to answer", "append"),
        _cost(figures, "CPU ms, with an Idempotency-Key", "append with a key"),
        _cost(figures, "CPU ms, making room", ROOM),
        _cost(figures, "CPU ms, library alone", f"append{LIBRARY}"),
        _cost(
            figures,
            "CPU ms of the engine, with a key",
            "append with a key",
            lambda cost: cost.engine,
        ),
        _cost(figures, "clock ms, with a key", "append with a key", lambda cost: cost.clock),
        _row(figures, "write units", lambda of: of.readings["append"].write_units),
        _row(
            figures,
            "write units, with a key",
            lambda of: of.readings["append with a key"].write_units,
        ),
        _row(figures, "write units, making room", lambda of: of.readings[ROOM].write_units),
        _row(figures, "read units", lambda of: of.readings["append"].read_units),
        _row(
            figures,
            "read units, with a key",
            lambda of: of.readings["append with a key"].read_units,
        ),
        _row(figures, "read units, making room", lambda of: of.readings[ROOM].read_units),
        _row(
            figures, "requests to the table", lambda of: of.readings["append with a key"].requests
        ),
        _row(figures, "bytes stored a turn", lambda of: round(2 * of.bytes_of["message"])),
        _row(figures, "bytes of the head", lambda of: round(of.bytes_of["head"])),
    ]
    key = round(next(iter(figures.values())).bytes_of["key"])
    return Table(
        "Append of one message",
        _columns(figures),
        rows,
        (
            (
                "Through the function's handler: event, validation, routing, tokens, transaction, "
                "answer, log line."
            ),
            (
                "Reads: the head, the user's epoch, and the extraction that stays pending here, as no "
                "worker runs beside."
            ),
            (
                f"One append in {FOLDED_AT - WINDOW + 1} makes room: past {FOLDED_AT} messages, down "
                f"to {WINDOW}."
            ),
            (
                f"A turn is two messages of {len(said(0)[1])} bytes. A key takes {key} bytes more, for "
                f"25 hours."
            ),
            "Growth is k in cost ~ messages^k; the goal is 0.05 at most.",
        ),
    )


def context_table(figures: Figures) -> Table:
    rows = [
        _cost(figures, "CPU ms, request to answer", "context"),
        _cost(figures, "CPU ms, library alone", f"context{LIBRARY}"),
        _cost(figures, "CPU ms of the engine", "context", lambda cost: cost.engine),
        _cost(figures, "clock ms", "context", lambda cost: cost.clock),
        _row(figures, "read units", lambda of: of.readings["context"].read_units),
        _row(figures, "read units allowed", read_bound),
        _row(figures, "requests to the table", lambda of: of.readings["context"].requests),
    ]
    note = f"{WINDOW} messages. Allowed: 6 + (window + summary + settings bytes) / 4 KB; without memory 4."
    return Table(f"Context of {WINDOW} messages", _columns(figures), rows, (note,))


def read_bound(of: Sized) -> float:
    """Return how many read units a context of the whole window may take. Two of these are for
    static facts and the user's memories.
    """
    return 6 + (WINDOW * of.bytes_of["message"] + of.bytes_of["settings"]) / 4096


def cpu_of(figures: Figures, call: str) -> dict[int, float]:
    return {size: of.costs[call].cpu for size, of in figures.items()}


def _columns(figures: Figures) -> list[str]:
    return ["messages in the session", *map(shown, figures), "growth"]


def _cost(
    figures: Figures, title: str, call: str, part: Callable[[Cost], float] = lambda cost: cost.cpu
) -> list[Cell]:
    """Return a row of times with their growth. The cell of a size at which such a call did not
    happen is empty.
    """
    points = {size: part(of.costs[call]) for size, of in figures.items() if call in of.costs}
    return [title, *(points.get(size) for size in figures), growth(exponent(points))]


def _row(figures: Figures, title: str, value: Callable[[Sized], float]) -> list[Cell]:
    return [title, *(value(of) for of in figures.values()), None]
