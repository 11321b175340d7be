"""Tables for the terminal and for results.md, each with what it was measured on."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "results.md"
HEADING = """# Results

Written whole by `make bench`; do not edit. CPU is the process's own time, not the clock's: it varies less with the
machine's load than a duration does, and still varies. Counts (units, requests, messages kept) are exact, and tests
hold them.
"""
Cell = str | float | int | None


@dataclass(frozen=True, slots=True)
class Table:
    """`notes` say how it was measured and what must be known to read it."""

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
    return "\n".join([f"## {table.title}", "", *lines, "", *(f"- {note}" for note in table.notes), ""])


def write(where: str, tables: Sequence[Table]) -> None:
    RESULTS.write_text("\n".join([HEADING, where, "", *map(as_markdown, tables)]))


def shown(cell: Cell) -> str:
    """Numbers to three digits or so, nothing as a dash."""
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
