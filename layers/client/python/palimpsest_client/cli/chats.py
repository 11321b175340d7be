"""Imports conversations from other products. It shows the contents of a file, and stores them."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer
from rich.progress import Progress

from palimpsest_client import errors
from palimpsest_client.blocking import Job, User
from palimpsest_client.chats import files
from palimpsest_client.chats.conversation import Chat
from palimpsest_client.chats.estimate import estimate, prices
from palimpsest_client.chats.speakers import Speakers
from palimpsest_client.chats.stamps import DayOrder
from palimpsest_client.cli import shown
from palimpsest_client.sessions import id_for

MOST_SHOWN = 20
PATIENCE = 3600
"""Seconds for the extraction of one conversation, which may wait for others."""
_REFUSED = re.compile(r"[^A-Za-z0-9._:@+|=-]+")
LONGEST_NAME = 60
REFUSED = (errors.Conflict, errors.Invalid, errors.TooLarge)
"""Problems of one conversation, after which the others are stored all the same."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """How to read a file. `me` are names of the user in it, and `named` its speakers."""

    me: Collection[str] = ()
    named: Collection[str] = ()
    dates: DayOrder | None = None


def read(file: Path, user: str, wanted: Wanted) -> list[Chat]:
    """Return the conversations of a file. Raises `ValueError`."""
    names = {user, *wanted.me}
    return files.chats(file, speakers=Speakers.of(names, wanted.named), dates=wanted.dates)


def names_of(user: User) -> list[str]:
    """Return the names under which the service knows the user."""
    shown_user = user.read()
    return [name for name in (shown_user.get("name"), *(shown_user.get("aliases") or ())) if name]


def check_user(chats: Sequence[Chat], user: str) -> None:
    """Raise `ValueError` if none of the speakers is the user."""
    if not any(chat.has_user for chat in chats):
        speakers = ", ".join(_speakers(chats))
        raise ValueError(
            f"None of the speakers ({speakers}) is {user}. Name the user's speaker with --me."
        )


def preview(chats: Sequence[Chat], model: str, *, json_wanted: bool) -> None:
    """Show what an import of the conversations would store, and what it would cost."""
    if model not in prices():
        raise typer.BadParameter(f"--model is one of {', '.join(prices())}.")
    left_out = sum((chat.left_out for chat in chats), Counter[str]())
    times = sorted(chat.began for chat in chats if chat.began)
    estimated: dict[str, Any] = asdict(estimate(chats, model))
    estimated |= {
        "first": next(iter(times), None),
        "last": next(reversed(times), None),
        "speakers": _speakers(chats),
        "left_out": dict(+left_out),
    }
    if json_wanted:
        shown.as_json(estimated)
        return
    listed = [
        {"began": chat.began, "messages": len(chat.messages), "title": chat.title or chat.name}
        for chat in chats[-MOST_SHOWN:]
    ]
    if len(chats) > MOST_SHOWN:
        shown.errors.print(f"The newest {MOST_SHOWN} of {len(chats)} conversations:")
    shown.rows(listed, {"at": "began", "messages": "messages", "title": "title"}, json_wanted=False)
    shown.facts(_in_words(estimated), json_wanted=False)


def store(chats: Sequence[Chat], user: User, *, json_wanted: bool) -> None:
    """Store the conversations, and wait until memories are extracted. What is stored already stays
    as it is, so that the same call continues an interrupted one. Exits with 1 if a conversation was
    refused or its extraction failed.
    """
    problems: list[dict[str, Any]] = []
    jobs: list[Job] = []
    with Progress(console=shown.errors, disable=json_wanted) as progress:
        for chat in progress.track(chats, description="Storing"):
            try:
                jobs.append(user.ingest_one(chat.messages, session=_session(user.id, chat)))
            except REFUSED as problem:
                problems.append({"session": chat.title or chat.name, "problem": problem.detail})
        for job in progress.track(jobs, description="Extracting"):
            with suppress(errors.JobFailed, errors.JobNotEnded):
                job.wait(timeout=PATIENCE)
    problems += [
        {"session": job.shown.get("session_id"), "problem": job.error or job.state}
        for job in jobs
        if job.state != "done"
    ]
    results = {
        "conversations": len(chats),
        "messages": sum(len(chat.messages) for chat in chats),
        "stored": sum(job.shown.get("appended") or 0 for job in jobs),
        "memories": sum(len(job.records) for job in jobs),
    }
    if json_wanted:
        shown.as_json({**results, "problems": problems})
    else:
        shown.facts(results, json_wanted=False)
    if problems and not json_wanted:
        shown.rows(problems, {"session": "session", "problem": "problem"}, json_wanted=False)
    if problems:
        raise typer.Exit(1)


def _session(user: str, chat: Chat) -> str | None:
    """Return the id of a conversation's session, which is the same each time. None leaves it to the
    service.
    """
    if chat.name is None or chat.is_named_by_caller:
        return chat.name
    plain = _REFUSED.sub("-", chat.name)[:LONGEST_NAME]
    if plain != chat.name:
        plain += "-" + hashlib.sha256(chat.name.encode()).hexdigest()[:12]
    return id_for(user, plain)


def _speakers(chats: Sequence[Chat]) -> list[str]:
    return list(dict.fromkeys(name for chat in chats for name in chat.speakers))


def _in_words(estimate: dict[str, Any]) -> dict[str, Any]:
    cost = estimate["cost_usd"]
    return {
        "conversations": estimate["conversations"],
        "messages": estimate["messages"],
        "tokens": f"about {estimate['tokens']:,}",
        "from": estimate["first"],
        "to": estimate["last"],
        "speakers": estimate["speakers"],
        "left out": estimate["left_out"],
        "cost": f"about ${cost:.2f} with {estimate['model']}, in "
        f"{estimate['model_calls']:,} calls; nothing without a model",
    }
