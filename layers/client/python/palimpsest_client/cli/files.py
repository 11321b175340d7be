"""Commands that read and write files: conversations, and exports of this service and of other
systems.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress

from palimpsest_client.blocking import Palimpsest
from palimpsest_client.cli import shown
from palimpsest_client.cli.options import MEMORY, AsJson, User
from palimpsest_client.exchange import conversations, is_export, memories_of_mem0


def ingest(
    file: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, help="JSON Lines or JSON, with conversations."),
    ],
    user: User,
    session: Annotated[str | None, typer.Option(help="Of messages that name none.")] = None,
    json_: AsJson = False,
) -> None:
    """Store conversations from a file, and wait until memories are extracted."""
    sarah, transcripts = Palimpsest().user(user), conversations(file, session)
    with Progress(console=shown.errors, disable=json_) as progress:
        jobs = [
            sarah.ingest_one(each, session=name)
            for name, each in progress.track(transcripts, description="Storing")
        ]  # fmt: skip
        ended = [job.wait() for job in progress.track(jobs, description="Extracting")]
    columns = {
        "session": "session_id",
        "state": "state",
        "messages": "ledger.received",
        "extracted": "ledger.extracted",
        "skipped": "ledger.skipped",
        "parked": "ledger.parked",
    }
    shown.rows([job.shown for job in ended], columns, json_wanted=json_)


def export_(
    user: User,
    file: Annotated[
        Path | None, typer.Argument(help="JSON Lines; standard output if it is left out.")
    ] = None,
    json_: AsJson = False,
) -> None:
    """Write all data of a user to a file, with ids and all versions, ready to be imported."""
    sarah = Palimpsest().user(user)
    if file is None:
        for row in sarah.exported():
            print(shown.json_of(row, separators=(",", ":"), sort_keys=True))
        return
    count = sarah.export(file)
    shown.facts({"rows": count, "file": str(file)}, json_wanted=json_)


def import_(
    file: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="The other system's export.")
    ],
    user: User,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="The system that wrote it: mem0, agentcore, or palimpsest (its `export`).",
        ),
    ] = None,
    json_: AsJson = False,
) -> None:
    """Store an export of this service or of another system. Importing the same file again changes
    nothing.
    """
    source = source or ("palimpsest" if is_export(file) else "mem0")
    if source not in ("mem0", "agentcore", "palimpsest"):
        raise typer.BadParameter("--from is mem0, agentcore or palimpsest.")
    sarah = Palimpsest().user(user)
    if source != "mem0":
        own = source == "palimpsest"
        job = (
            sarah.import_(file)
            if own
            else sarah.begin_import(json.loads(file.read_bytes()), form=source)
        )
        shown.facts(job.wait().shown, json_wanted=json_)
        return
    memories = memories_of_mem0(file)
    saved: list[Mapping[str, Any]] = []
    with Progress(console=shown.errors, disable=json_) as progress:
        for batch in progress.track(list(_batches(memories, 30)), description="Saving"):
            saved += sarah.remember_all(batch)
    shown.rows(saved, {"outcome": "outcome", **MEMORY}, json_wanted=json_)


def _batches(rows: Iterable[dict[str, Any]], size: int) -> Iterator[list[dict[str, Any]]]:
    every = list(rows)
    return (every[start : start + size] for start in range(0, len(every), size))
