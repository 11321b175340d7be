"""Commands on the results of recalls: show a result, give feedback on it, and list the reviews that
feedback opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from palimpsest_client.blocking import Palimpsest
from palimpsest_client.cli import shown
from palimpsest_client.cli.options import AnyUser, AsJson, Most, User

MOST_TERMS = 4
"""How many terms of a memory's rank are shown."""


def show(recall: Mapping[str, Any]) -> None:
    """Show the memories of a recall with their sources, and with an explanation if it has one."""
    rows = [{**memory, **_notes(memory)} for memory in recall["memories"]]
    columns = {
        "score": "score", "memory": "content", "type": "type", "found by": "found_by",
        "said by": "speaker", "day": "day", "source": "place", "notes": "notes", "id": "id",
    }  # fmt: skip
    shown.rows(rows, columns, json_wanted=False)
    fields = {"answer": "answer", "degraded": "degraded", "recall": "recall_id"}
    shown.facts({name: recall.get(field) for name, field in fields.items()}, json_wanted=False)
    if trace := recall.get("trace"):
        ranked = [{**candidate, "why": _why(candidate["terms"])} for candidate in trace["ranking"]]
        why = {"id": "id", "score": "score", "strength": "strength", "why": "why", "cut": "cut"}
        shown.rows(ranked, why, json_wanted=False)
        facts = {name: trace[name] for name in ("found", "reranker", "dropped")}
        shown.facts(facts, json_wanted=False)


def feedback(
    recall: Annotated[str, typer.Argument(help="The recall, as `recall` shows it.")],
    user: User,
    useful: Annotated[
        list[str] | None, typer.Option("--useful", help="Id of a memory that helped.")
    ] = None,
    wrong: Annotated[
        list[str] | None, typer.Option("--wrong", help="Id of a memory that is not true.")
    ] = None,
    missing: Annotated[
        str | None, typer.Option(help="A fact that the recall should have found.")
    ] = None,
    json_: AsJson = False,
) -> None:
    """Say which memories of a recall were useful or wrong, and what was missing."""
    if not useful and not wrong and missing is None:
        raise typer.BadParameter("Name at least one of --useful, --wrong and --missing.")
    sarah = Palimpsest().user(user)
    result = sarah.feedback(recall, useful=useful or (), wrong=wrong or (), missing=missing)
    shown.facts(result, json_wanted=json_)


def reviews(
    user: AnyUser = None,
    close: Annotated[str | None, typer.Option(help="Close this review, with --user.")] = None,
    limit: Most = 50,
    json_: AsJson = False,
) -> None:
    """List the open reviews of memories that were wrong or missing, or close one."""
    memory = Palimpsest()
    if close is not None:
        if user is None:
            raise typer.BadParameter("--close needs --user.")
        shown.facts(memory.user(user).close_review(close), json_wanted=json_)
        return
    open_reviews = (
        memory.reviews(limit=limit) if user is None else memory.user(user).reviews(limit=limit)
    )
    columns = {
        "id": "id", "kind": "kind", "user": "user_id", "memory": "memory.content",
        "missing": "missing", "memory id": "memory.id", "at": "created_at",
    }  # fmt: skip
    shown.rows(open_reviews, columns, json_wanted=json_)


def _notes(memory: Mapping[str, Any]) -> dict[str, Any]:
    """Return the day, the source and the state of a found memory, in words."""
    source = memory.get("source") or {}
    numbers = ", ".join(map(str, source.get("seqs") or ()))
    place = " ".join(filter(None, [source.get("session_id"), numbers and f"#{numbers}"]))
    outdated = memory.get("outdated_by")
    notes = {
        "ended": memory.get("ended"),
        f"outdated by {outdated}": outdated,
        "no longer sure": memory.get("rests_on_changed"),
        "material": memory.get("material"),
    }
    return {
        "day": memory.get("when") or str(memory.get("valid_from") or "")[:10],
        "place": place,
        "notes": [note for note, holds in notes.items() if holds],
    }


def _why(terms: Mapping[str, float]) -> str:
    """Return the terms that move a memory's rank most, with their signs."""
    by_size = sorted(terms.items(), key=lambda term: -abs(term[1]))
    return ", ".join(f"{name} {value:+.2f}" for name, value in by_size[:MOST_TERMS])
