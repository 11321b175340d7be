"""Tables for the terminal and for results.md, each with a description of the machine."""

import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

RESULTS = Path(__file__).parent / "results.md"
HEADING = """# Results

Written by `make bench`, whole or part by part, and by `make cost`; do not edit. CPU is the process's own time, not the
clock's: it varies less with the machine's load than a duration does, and still varies. Counts (units, requests,
messages kept) are exact, and tests hold them.
"""
Cell = str | float | int | None


@dataclass(frozen=True, slots=True)
class Table:
    """A table. `notes` say how it was measured, and what readers must know."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()


def machine() -> str:
    return f"{_processor()}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def load() -> str:
    return " ".join(f"{average:.1f}" for average in os.getloadavg())


def for_terminal(table: Table) -> str:
    cells = [list(table.columns), *([shown(cell) for cell in row] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(_padded(row, widths)).rstrip() for row in cells]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([table.title, "", *lines, "", *(f"  {note}" for note in table.notes)])


def as_markdown(table: Table) -> str:
    lines = [_line(table.columns), _line(["---", *("---:" for _ in table.columns[1:])])]
    lines += [_line([shown(cell) for cell in row]) for row in table.rows]
    return "\n".join(
        [f"## {table.title}", "", *lines, "", *(f"- {note}" for note in table.notes), ""]
    )


def write(where: str, tables: Sequence[Table]) -> None:
    """Write the results of a whole run."""
    RESULTS.write_text("\n".join([HEADING, where, "", *map(as_markdown, tables)]))


def amend(where: str, tables: Sequence[Table]) -> None:
    """Replace some parts of the results. All other parts stay, measured as their heading says."""
    noted = [replace(table, notes=(*table.notes, where)) for table in tables]
    RESULTS.write_text(
        amended(RESULTS.read_text(), {table.title: as_markdown(table) for table in noted})
    )


def amended(results: str, sections: Mapping[str, str]) -> str:
    """Return the results with these sections, which replace those with the same titles. New
    sections come last.
    """
    head, *known = re.split(r"^(?=## )", results, flags=re.MULTILINE)
    kept = {
        section.splitlines()[0].removeprefix("## "): section.rstrip("\n") + "\n"
        for section in known
    }
    return "\n".join([head.rstrip("\n") + "\n", *{**kept, **sections}.values()])


def shown(cell: Cell) -> str:
    """Return a cell as text. Numbers have about three digits, and an empty cell is a dash."""
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int) or cell.is_integer():
        return f"{int(cell):,}"
    if abs(cell) >= 100:
        return f"{cell:,.0f}"
    return f"{cell:.1f}" if abs(cell) >= 10 else f"{cell:.2f}"


def growth(value: float | None) -> str:
    return "-" if value is None else f"{value:+.3f}"


def _padded(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    first, *others = (
        cell.ljust(width) if number == 0 else cell.rjust(width)
        for number, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return [first, *others]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())
