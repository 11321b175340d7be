"""The check of a line's place in an import: whether it may follow the lines before it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from palimpsest.errors import Unprocessable
from palimpsest.transfer.agreement import SessionLines, require
from palimpsest.transfer.line_forms import EndLine, ExportLine, UserLine
from palimpsest.transfer.memory_forms import NamespaceLine, RecordLine, VectorLine
from palimpsest.transfer.session_forms import (
    CompactionLine,
    MessageLine,
    PartLine,
    ProgressLine,
    SessionLine,
)

AnyLine: TypeAlias = (
    ExportLine
    | UserLine
    | SessionLine
    | ProgressLine
    | CompactionLine
    | MessageLine
    | RecordLine
    | NamespaceLine
    | VectorLine
    | EndLine
)


@dataclass(frozen=True, slots=True)
class Before:
    """The state of a file before a line: nothing, the end, or a session or namespace that the line
    may belong to. `dimension` is the dimension of the namespace, and `vector` the id of its last
    vector so far.
    """

    is_begun: bool = False
    is_over: bool = False
    session: SessionLines | None = None
    session_id: str | None = None
    namespace: str | None = None
    dimension: int = 0
    vector: str = ""

    def then(self, line: AnyLine, *, number: int) -> Before:
        """Return the state after the line. Raises `Unprocessable` if the line is not allowed
        here.
        """
        if self.is_over or self.is_begun == isinstance(line, ExportLine):
            raise Unprocessable(
                "a file must begin with a line of kind `export` and end with one of kind `end`"
            )
        match line:
            case SessionLine():
                begun = SessionLines(line.session_id, line.head, number=number)
                return Before(is_begun=True, session=begun, session_id=line.session_id)
            case ProgressLine() | CompactionLine() | MessageLine():
                _join(self._session_of(line), line)
                return self
            case NamespaceLine():
                space = line.held
                return Before(is_begun=True, namespace=space.name, dimension=space.dimension)
            case VectorLine():
                return self._after_vector(line)
            case EndLine():
                require(
                    line.lines == number, f"lines are missing: the file should have {line.lines}"
                )
                return Before(is_begun=True, is_over=True)
        return Before(is_begun=True)

    def _session_of(self, line: PartLine) -> SessionLines:
        if self.session is None or line.session_id != self.session_id:
            raise Unprocessable("it does not belong to a line before it")
        return self.session

    def _after_vector(self, line: VectorLine) -> Before:
        vector = line.held
        require(line.namespace == self.namespace, "it does not belong to a line before it")
        require(vector.id > self.vector, "vectors must be in the order of their ids, each once")
        is_like = len(vector.values) == self.dimension
        require(is_like, "its dimension differs from that of its namespace")
        return replace(self, vector=vector.id)


def _join(session: SessionLines, line: ProgressLine | CompactionLine | MessageLine) -> None:
    """Check the line against its session, and add it. Raises `Unprocessable` if it contradicts the
    session.
    """
    head = session.head
    match line:
        case ProgressLine(held=progress):
            require(0 <= progress.through <= head.seq, "through is not a message of the session")
            is_within = all(
                0 < first <= last <= progress.through for first, last in progress.parked
            )
            require(is_within, "parked: a range is not within 1 to through")
        case CompactionLine(held=made):
            is_within = head.base < made.first <= made.last <= head.seq
            is_of_it = is_within and 0 <= made.newest <= head.seq
            require(is_of_it, "first, last and newest are not messages of the session")
            session.check_compaction(made)
        case MessageLine(held=message):
            session.check_message(message)
