"""The checks of each line of an import before anything is stored: its form, and its place among the
lines before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from palimpsest.clock import milliseconds
from palimpsest.errors import BadRequest, FieldError, TooLarge, Unprocessable
from palimpsest.incoming import json_object
from palimpsest.transfer.lines import Row, fault_of
from palimpsest.transfer.places import AnyLine, Before

LINE: TypeAdapter[AnyLine] = TypeAdapter(Annotated[AnyLine, Field(discriminator="kind")])


def rows(lines: Iterable[bytes], *, now: datetime) -> Iterator[Row]:
    """Yield the rows of a whole file, each checked. Raises `Unprocessable` (`invalid_import`),
    which names the line. If a session as a whole contradicts itself, the named line is the
    session's first.
    """
    number, before, context = 0, Before(), {"now": milliseconds(now)}
    for number, text in enumerate(lines, 1):
        with _naming(number):
            row = json_object(text.decode())
            line = _read(row, context)
            following = before.then(line, number=number)
        if before.session is not None and following.session is not before.session:
            with _naming(before.session.number):
                before.session.check_end()
        before = following
        yield row
    if not before.is_over:
        raise _refused(number + 1, "the file is cut off: its last line must be of the kind `end`")


@contextmanager
def _naming(number: int) -> Iterator[None]:
    """Report errors raised in this context as errors of the line with this number."""
    try:
        yield
    except (Unprocessable, BadRequest, TooLarge) as error:
        raise _refused(number, error.detail) from error
    except (LookupError, TypeError, ValueError) as error:
        raise _refused(number, "it is not JSON, or lacks a field") from error


def _read(row: Row, context: dict[str, int]) -> AnyLine:
    try:
        return LINE.validate_python(row, context=context)
    except ValidationError as error:
        raise Unprocessable(fault_of(error, within=1)) from error


def _refused(number: int, detail: str) -> Unprocessable:
    return Unprocessable(
        f"Line {number} of the import can't be taken: {detail.removesuffix('.')}.",
        code="invalid_import",
        errors=(FieldError(f"line {number}", detail),),
    )
