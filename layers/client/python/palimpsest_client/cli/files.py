"""Commands that read and write files: conversations, and exports of this service and of other
systems.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress

from palimpsest_client.blocking import Palimpsest
from palimpsest_client.blocking import User as Memories
from palimpsest_client.chats.estimate import MODEL
from palimpsest_client.chats.files import has_chats, is_archive
from palimpsest_client.chats.stamps import DayOrder
from palimpsest_client.cli import chats, shown
from palimpsest_client.cli.options import MEMORY, AsJson, User
from palimpsest_client.exchange import conversations, is_export, memories_of_mem0


def ingest(
    file: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, help="JSON Lines or JSON, with conversations."),
    ],
    user: User,
    session: Annotated[
        str | None, typer.Option(help="The session for messages that name no session.")
    ] = None,
    json_: AsJson = False,
) -> None:
    """Store conversations from a file, and wait until memories are extracted."""
    sarah, transcripts = Palimpsest().user(user), conversations(file, session)
    with Progress(console=shown.errors, disable=json_) as progress:
        jobs = [
            sarah.ingest_one(messages, session=name)
            for name, messages in progress.track(transcripts, description="Storing")
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
        Path,
        typer.Argument(
            exists=True,
            dir_okay=False,
            help="Conversations of ChatGPT or Claude (JSON or the archive), in text, Markdown or "
            "JSON Lines; an export of this service, of mem0 or of AgentCore.",
        ),
    ],
    user: User,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", help="Read the file as chats, mem0, agentcore, or palimpsest (its `export`)."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Only show the conversations that would be stored, and their cost."
        ),
    ] = False,
    me: Annotated[
        list[str] | None, typer.Option("--me", help="A name of the user in the conversations.")
    ] = None,
    speakers: Annotated[
        list[str] | None,
        typer.Option(
            "--speaker", help="A speaker's name in the text. Default: names that are found."
        ),
    ] = None,
    dates: Annotated[
        DayOrder | None, typer.Option(help="How the text writes days such as 05/01/2024.")
    ] = None,
    model: Annotated[str, typer.Option(help="The model whose cost --dry-run shows.")] = MODEL,
    json_: AsJson = False,
) -> None:
    """Store conversations of another product, or an export of this service or of another system.
    Importing the same file again changes nothing, so it continues an interrupted import.
    """
    source = source or _source_of(file)
    if source not in ("chats", "mem0", "agentcore", "palimpsest"):
        raise typer.BadParameter("--from is chats, mem0, agentcore or palimpsest.")
    if dry_run and source != "chats":
        raise typer.BadParameter("--dry-run is for conversations.")
    named = chats.Wanted(me or (), speakers or (), dates)
    if dry_run:
        chats.preview(chats.read(file, user, named), model, json_wanted=json_)
        return
    sarah = Palimpsest().user(user)
    if source == "chats":
        known = replace(named, me=[*named.me, *chats.names_of(sarah)])
        conversations = chats.read(file, user, known)
        chats.check_user(conversations, user)
        chats.store(conversations, sarah, json_wanted=json_)
    elif source == "mem0":
        _import_mem0(file, sarah, json_wanted=json_)
    else:
        own = source == "palimpsest"
        job = (
            sarah.import_(file)
            if own
            else sarah.begin_import(json.loads(file.read_bytes()), form=source)
        )
        shown.facts(job.wait().shown, json_wanted=json_)


def _source_of(file: Path) -> str:
    if is_archive(file) or not is_export(file):
        return "chats" if has_chats(file) else "mem0"
    return "palimpsest"


def _import_mem0(file: Path, sarah: Memories, *, json_wanted: bool) -> None:
    memories = memories_of_mem0(file)
    saved: list[Mapping[str, Any]] = []
    with Progress(console=shown.errors, disable=json_wanted) as progress:
        for batch in progress.track(list(_batches(memories, 30)), description="Saving"):
            saved += sarah.remember_all(batch)
    shown.rows(saved, {"outcome": "outcome", **MEMORY}, json_wanted=json_wanted)


def _batches(rows: Iterable[dict[str, Any]], size: int) -> Iterator[list[dict[str, Any]]]:
    every = list(rows)
    return (every[start : start + size] for start in range(0, len(every), size))
