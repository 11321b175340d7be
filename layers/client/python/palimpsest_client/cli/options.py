"""Options that several commands take, and the columns in which they show memories."""

from __future__ import annotations

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
User = Annotated[str, typer.Option("--user", "-u", envvar="PALIMPSEST_USER", help="The user's id.")]
AnyUser = Annotated[
    str | None, typer.Option("--user", "-u", envvar="PALIMPSEST_USER", help="Only of this user.")
]
Most = Annotated[int, typer.Option("--limit", "-n", min=1, help="The most rows.")]
SessionId = Annotated[str, typer.Argument(help="Id of the session.")]
MemoryId = Annotated[str, typer.Argument(help="Id of the memory.")]
MEMORY = {
    "id": "id",
    "type": "type",
    "memory": "content",
    "said by": "speaker",
    "topic": "topic_key",
    "since": "valid_from",
}
