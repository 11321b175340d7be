"""The tables that compare libraries at the same sizes: an append, a read of the newest messages,
and stored bytes.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.beside.environments import PEERS, Peer, asked, home, python_of
from benchmarks.conversation import WINDOW, said
from benchmarks.load.figures import Figures
from benchmarks.load.growth import LIBRARY
from benchmarks.measure import Cost, exponent
from benchmarks.report import Cell, Table, growth, shown
from benchmarks.service import Place

ROUNDS = 30


@dataclass(frozen=True, slots=True)
class Line:
    """The figures of one subject, by size: CPU ms (its own and the database's) of an append and of
    a read, and bytes for each turn.
    """

    title: str
    append: Mapping[int, float]
    read: Mapping[int, float]
    turn: Mapping[int, float]
    notes: Sequence[str] = field(default_factory=tuple)


def tables(place: Place, figures: Figures, *, sizes: Sequence[int], seconds: float) -> list[Table]:
    lines = [_ours(figures, "Palimpsest, request to answer", "append with a key", "context")]
    lines.append(
        _ours(figures, "Palimpsest, library alone", f"append{LIBRARY}", f"context{LIBRARY}")
    )
    lines += [_peer(peer, place, sizes=sizes, seconds=seconds) for peer in PEERS]
    reached = sorted({size for line in lines for size in line.append})
    notes = [note for line in lines for note in line.notes]
    return [
        _table(
            "Append of one message, beside others",
            lines,
            reached,
            "append",
            (
                (
                    "CPU ms of the process and of the engine, where there is one: SQLite works in the "
                    "process."
                ),
                (
                    "Ours validates, counts tokens, keeps an idempotency key, and is a transaction; the "
                    "others store."
                ),
                *notes,
            ),
        ),
        _table(
            f"Reading the {WINDOW} newest messages, beside others",
            lines,
            reached,
            "read",
            (
                (
                    "CPU ms as above. Ours reads them fitted to the token budget, with the state of the "
                    "session."
                ),
            ),
        ),
        _table(
            "Bytes stored a turn, beside others",
            lines,
            reached,
            "turn",
            (
                (
                    f"Two messages of {len(said(0)[1])} bytes. DynamoDB counts names and values; SQLite: "
                    f"values of rows."
                ),
            ),
        ),
    ]


def _table(
    title: str, lines: Sequence[Line], sizes: Sequence[int], part: str, notes: Sequence[str]
) -> Table:
    rows: list[list[Cell]] = []
    for line in lines:
        points: Mapping[int, float] = getattr(line, part)
        rows.append([line.title, *(points.get(size) for size in sizes), growth(exponent(points))])
    return Table(title, ["messages in the conversation", *map(shown, sizes), "growth"], rows, notes)


def _ours(figures: Figures, title: str, append: str, read: str) -> Line:
    return Line(
        title,
        append={size: _total(of.costs[append]) for size, of in figures.items()},
        read={size: _total(of.costs[read]) for size, of in figures.items()},
        turn={size: round(2 * of.bytes_of["message"]) for size, of in figures.items()},
    )


def _total(cost: Cost) -> float:
    return cost.cpu + cost.engine


def _peer(peer: Peer, place: Place, *, sizes: Sequence[int], seconds: float) -> Line:
    print(f"  {peer.title}", file=sys.stderr, flush=True)
    title = f"{peer.title} ({peer.versions.partition(',')[0].rpartition(' ')[2]})"
    try:
        figures = _measured(peer, place, sizes=sizes, seconds=seconds)
    except RuntimeError as error:
        return Line(title, {}, {}, {}, (f"{peer.title}: {peer.note}. {error}.",))
    by_size: dict[int, Any] = {int(size): of for size, of in figures["sizes"].items()}
    few = {
        size: of["append"]["calls"]
        for size, of in by_size.items()
        if of["append"]["calls"] < ROUNDS
    }
    notes = [f"{peer.title} ({peer.versions}): {peer.note}."]
    if figures["stopped"]:
        notes.append(f"Stopped: {figures['stopped']}.")
    notes += [f"At {size:,} messages {calls} appends were measured." for size, calls in few.items()]
    return Line(
        title,
        append={size: of["append"]["cpu"] + of["append"]["engine"] for size, of in by_size.items()},
        read={size: of["read"]["cpu"] + of["read"]["engine"] for size, of in by_size.items()},
        turn={size: round(of["bytes"]) for size, of in by_size.items()},
        notes=(" ".join(notes),),
    )


def _measured(peer: Peer, place: Place, *, sizes: Sequence[int], seconds: float) -> dict[str, Any]:
    with home(peer, place) as folder:
        order = {
            "task": "growth",
            "place": folder,
            "sizes": sizes,
            "rounds": ROUNDS,
            "seconds": seconds,
            "engine": place.engine if peer.module == "langchain_dynamodb" else None,
        }
        return asked(python_of(peer), peer.module, order, place=place, seconds=4 * seconds + 60)
