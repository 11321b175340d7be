"""The commands of `palimpsest`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

import httpx2
import typer

from palimpsest_client import errors
from palimpsest_client.blocking import Palimpsest
from palimpsest_client.calls import MISREAD
from palimpsest_client.cli import evaluation, files, local, people, recalls, shown, stdio
from palimpsest_client.cli.mcp_clients import ClientName, Server, configuration, file_of
from palimpsest_client.cli.options import MEMORY, AnyUser, AsJson, MemoryId, Most, SessionId, User
from palimpsest_client.connection import PROFILE, TIMEOUT, find, login_file, options
from palimpsest_client.sessions import id_for

app = typer.Typer(
    no_args_is_help=True,
    help="Memory for agents: memories, contexts and histories of users.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it with the option's value
    if wanted:
        print(f"palimpsest {_installed()}")
        raise typer.Exit


def _installed() -> str:
    """Return the version of the client's wheel, or of the service's library, which has it too."""
    try:
        return version("palimpsest-memory")
    except PackageNotFoundError:
        return version("palimpsest")


@app.callback()
def _palimpsest(
    *,
    profile: Annotated[
        str | None,
        typer.Option(
            help="Use the address and key that `login` stored under this name.", envvar=PROFILE
        ),
    ] = None,
    version_: Annotated[  # noqa: ARG001 - typer answers it
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version of the client."
        ),
    ] = False,
) -> None:
    if profile is not None:
        os.environ[PROFILE] = profile


def run() -> None:
    """Run the command. An error is shown in one sentence, with the exit status 1."""
    try:
        app(standalone_mode=True)
    except errors.Problem as problem:
        shown.errors.print(shown.sentence(f"{problem.code}: {problem.detail}"), style="red")
        for line in (f"{error['field']}: {error['message']}" for error in problem.errors):
            if line not in problem.detail:
                shown.errors.print(shown.sentence(f"  {line}"))
        if isinstance(problem, errors.Unauthenticated | errors.Forbidden):
            shown.errors.print("  `palimpsest login` stores another key.")
        sys.exit(1)
    except (errors.PalimpsestError, OSError, ValueError) as error:
        shown.errors.print(shown.sentence(error), style="red")
        sys.exit(1)
    except (*MISREAD, RecursionError) as error:
        shown.errors.print(
            shown.sentence(f"The answer has another shape than the service's ({error!r})."),
            style="red",
        )
        sys.exit(1)


@app.command()
def login(
    url: Annotated[str, typer.Option(prompt="Address of the service", help="https://…")],
    key: Annotated[str, typer.Option(prompt="API key", hide_input=True, help="pal_…")],
    json_: AsJson = False,
) -> None:
    """Check address and key, and keep them for every later command."""
    with Palimpsest(url, key) as memory:
        next(memory.sessions(limit=1), None)
    file = login_file()
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file.touch(mode=0o600)
    file.chmod(0o600)
    file.write_text(json.dumps({"url": url, "api_key": key}) + "\n")
    shown.facts({"url": url, "kept in": str(file)}, json_wanted=json_)


@app.command()
def chat(
    user: User,
    session: Annotated[
        str | None,
        typer.Option("--session", "-s", help="Id of the session. Default: the user's own session."),
    ] = None,
    model: Annotated[
        str, typer.Option(help="The model that answers, at OPENAI_BASE_URL with OPENAI_API_KEY.")
    ] = "gpt-4.1-nano",
    json_: AsJson = False,
) -> None:
    """Talk to a model that remembers. An empty line or the end of input ends the conversation. With
    JSON, each reply is one line.
    """
    try:
        import openai
    except ModuleNotFoundError:
        raise ValueError("This command needs the package openai: pip install openai") from None
    try:
        llm = openai.OpenAI()
    except openai.OpenAIError:
        raise ValueError("This command needs a model's key: set OPENAI_API_KEY.") from None
    try:
        talk = Palimpsest().session(session or id_for(user, "cli"), user=user)
        for line in _lines(prompt="" if json_ else "[bold]> [/bold]"):
            turn = talk.say(line)
            while not turn.is_done:
                request: Any = {
                    "model": model,
                    "messages": turn.messages,
                    "tools": turn.tools or openai.omit,
                }
                stream = llm.chat.completions.create(**request, stream=True)
                turn = talk.answer(stream, on_text=None if json_ else shown.as_it_comes)
            print(shown.json_of({"content": turn.text}) if json_ else "")
    except openai.OpenAIError as error:
        raise ValueError(f"The model gave no answer: {error}") from error
    finally:
        llm.close()
    with suppress(errors.SessionNotFound):  # nothing was said
        talk.end()


@app.command()
def sessions(user: AnyUser = None, limit: Most = 50, json_: AsJson = False) -> None:
    """List sessions, the newest first."""
    columns = {
        "id": "session_id",
        "user": "user_id",
        "status": "status",
        "messages": "totals.messages",
        "tokens": "window.tokens",
        "last": "updated_at",
    }
    shown.rows(Palimpsest().sessions(user_id=user, limit=limit), columns, json_wanted=json_)


@app.command()
def messages(session: SessionId, limit: Most = 50, json_: AsJson = False) -> None:
    """Show the messages of a session, word for word."""
    newest = list(Palimpsest().session(session).messages(order="desc", limit=limit))
    columns = {
        "seq": "seq",
        "role": "role",
        "content": "content",
        "tokens": "tokens",
        "at": "created_at",
    }
    in_order: list[Mapping[str, Any]] = [*reversed(newest)]
    if any(mark in message for message in in_order for mark in MARKS) and not json_:
        columns["marks"] = "marks"
        in_order = [{**message, "marks": _marks(message)} for message in in_order]
    shown.rows(in_order, columns, json_wanted=json_)


MARKS = {"material": "material", "off_record": "off the record", "hidden": "in part deleted"}


def _marks(message: Mapping[str, Any]) -> str:
    return ", ".join(shown for mark, shown in MARKS.items() if message.get(mark))


@app.command()
def context(
    session: SessionId,
    message: Annotated[str | None, typer.Argument(help="The user's next message.")] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="A budget in tokens. Default: the session's.")
    ] = None,
    explain: Annotated[
        bool, typer.Option(help="Show the reason for each part, and the parts left out.")
    ] = False,
    json_: AsJson = False,
) -> None:
    """Show the model's next input."""
    answer = (
        Palimpsest()
        .session(session)
        .context(message, max_tokens=max_tokens, explain=explain or None)
    )
    if json_:
        shown.as_json(answer)
        return
    shown.rows(
        answer["messages"],
        {"role": "role", "content": "content", "calls": "tool_calls"},
        json_wanted=False,
    )
    shown.facts(
        {name: answer[name] for name in ("tokens", "omitted", "degraded")}, json_wanted=False
    )
    if trace := answer.get("trace"):
        shown.rows(
            trace.pop("parts"),
            {"part": "part", "from": "from", "to": "to", "why": "why"},
            json_wanted=False,
        )
        if left_out := trace.pop("left_out", None):
            shown.rows(
                left_out, {"left out of": "part", "id": "id", "why": "why"}, json_wanted=False
            )
        shown.facts(trace, json_wanted=False)


@app.command()
def recall(
    query: str,
    user: User,
    k: Annotated[int, typer.Option(help="The most memories to show.")] = 5,
    answer: Annotated[
        bool, typer.Option(help="Also answer the question from the memories.")
    ] = False,
    as_of: Annotated[
        str | None, typer.Option(help="Show the memories that were valid at this time (RFC 3339).")
    ] = None,
    explain: Annotated[bool, typer.Option(help="Show why each memory has its rank.")] = False,
    json_: AsJson = False,
) -> None:
    """Find the memories that answer a question."""
    sarah = Palimpsest().user(user)
    result = sarah.recall(query, k=k, answer=answer or None, as_of=as_of, explain=explain or None)
    if json_:
        shown.as_json(result)
    else:
        recalls.show(result)


@app.command()
def remember(
    content: str,
    user: User,
    topic: Annotated[
        str | None, typer.Option(help="Topic whose current memory it replaces.")
    ] = None,
    type_: Annotated[
        str, typer.Option("--type", help="fact, event, instruction or task.")
    ] = "fact",
    importance: Annotated[float | None, typer.Option(min=0, max=1)] = None,
    json_: AsJson = False,
) -> None:
    """Save a memory."""
    saved = (
        Palimpsest().user(user).remember(content, type=type_, topic=topic, importance=importance)
    )
    shown.facts(saved if json_ else _short(saved), json_wanted=json_)


@app.command()
def memories(
    user: User,
    types: Annotated[
        list[str] | None, typer.Option("--type", help="Only memories of these types.")
    ] = None,
    subject: str | None = None,
    topic: Annotated[str | None, typer.Option(help="Only memories of this topic.")] = None,
    superseded: Annotated[
        bool, typer.Option(help="Show replaced memories instead of current ones.")
    ] = False,
    limit: Most = 50,
    json_: AsJson = False,
) -> None:
    """List the memories of a user, the newest first."""
    status = "superseded" if superseded else None
    where = {"types": types, "subject": subject, "topic_key": topic, "status": status}
    shown.rows(Palimpsest().user(user).memories(**where, limit=limit), MEMORY, json_wanted=json_)


@app.command()
def profile(user: User, json_: AsJson = False) -> None:
    """Show who a user is, on one page. It has current memories only, each line with the id of its
    memory.
    """
    page = Palimpsest().user(user).profile()
    if json_:
        shown.as_json(page)
    else:
        shown.text(page["text"])


@app.command()
def history(memory: MemoryId, user: User, json_: AsJson = False) -> None:
    """Show every version of a memory's topic, the newest first."""
    shown.rows(
        Palimpsest().user(user).history(memory), {**MEMORY, "until": "valid_to"}, json_wanted=json_
    )


@app.command()
def revert(memory: MemoryId, user: User, json_: AsJson = False) -> None:
    """Make an earlier version current again."""
    saved = Palimpsest().user(user).revert(memory)
    shown.facts(saved if json_ else _short(saved), json_wanted=json_)


@app.command()
def forget(
    user: User,
    memory: Annotated[str | None, typer.Argument(help="One memory, by its id.")] = None,
    types: Annotated[
        list[str] | None, typer.Option("--type", help="Only memories of these types.")
    ] = None,
    subject: str | None = None,
    topic: Annotated[str | None, typer.Option(help="Only memories of this topic.")] = None,
    session: Annotated[str | None, typer.Option(help="Only memories from this session.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list what would be removed.")
    ] = False,
    json_: AsJson = False,
) -> None:
    """Remove one memory, or all that match, with all their versions."""
    where: Any = _given(
        {"types": types, "subject": subject, "topic_key": topic, "session_id": session}
    )
    if (memory is None) == (not where):
        raise typer.BadParameter(
            "Name at least one of --type, --subject, --topic and --session, or one memory; `erase` "
            "removes everything."
        )
    sarah = Palimpsest().user(user)
    if dry_run:
        ids = [memory] if memory else sarah.would_forget(where)
        shown.rows((sarah.memory(memory_id) for memory_id in ids), MEMORY, json_wanted=json_)
    elif memory:
        shown.facts(sarah.delete(memory), json_wanted=json_)
    else:
        shown.facts(sarah.forget(where).wait().shown, json_wanted=json_)


@app.command()
def edit(memory: MemoryId, content: str, user: User, json_: AsJson = False) -> None:
    """Change the text of a memory. The earlier text stays in its history."""
    changed = Palimpsest().user(user).change(memory, content=content)
    shown.facts(changed if json_ else _short(changed), json_wanted=json_)


app.command()(people.users)
app.command()(local.up)
app.command()(local.down)
app.command()(recalls.feedback)
app.command()(recalls.reviews)
app.command(name="eval")(evaluation.eval_)
app.command()(people.prefer)
app.command()(files.ingest)
app.command(name="export")(files.export_)
app.command(name="import")(files.import_)


@app.command()
def name(
    user: User,
    name: Annotated[
        str | None, typer.Argument(help="The user's new name. Default: show the name.")
    ] = None,
    aliases: Annotated[
        list[str] | None, typer.Option("--alias", help="Another name of the user, such as a nick.")
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove the names that were set.")] = False,
    json_: AsJson = False,
) -> None:
    """Show or set the names of a user. A speaker with one of these names is the user."""
    sarah = Palimpsest().user(user)
    is_set = name is not None or aliases or clear
    shown_user = sarah.set_names(name, aliases=aliases or ()) if is_set else sarah.read()
    shown.facts(
        {field: shown_user[field] for field in ("user_id", "name", "aliases")}, json_wanted=json_
    )


@app.command()
def usage(
    by: Annotated[str, typer.Option(help="day, user or tenant.")] = "day",
    from_: Annotated[
        str | None, typer.Option("--from", help="First day. Default: the first day of this month.")
    ] = None,
    to: Annotated[str | None, typer.Option(help="Last day. Default: today.")] = None,
    user: AnyUser = None,
    json_: AsJson = False,
) -> None:
    """Show the usage: messages, model calls, tokens and cost. Needs a key with the scope admin."""
    of = {"day": {"day": "day"}, "user": {"user": "user_id"}}.get(by, {})
    columns = of | {
        "messages": "messages", "bytes": "bytes", "model calls": "model_calls",
        "tokens in": "tokens_in", "tokens out": "tokens_out",
        "embeddings": "embedding_calls", "US$": "cost_usd", "unpriced": "unpriced_calls",
    }  # fmt: skip
    shown.rows(
        Palimpsest().usage(by=by, from_=from_, to=to, user_id=user), columns, json_wanted=json_
    )


@app.command()
def jobs(
    user: AnyUser = None,
    failed: Annotated[
        bool,
        typer.Option(
            "--failed", help="Only failed jobs. Without --user: the failed jobs of all users."
        ),
    ] = False,
    retry: Annotated[bool, typer.Option(help="Try the failed jobs again.")] = False,
    calls: Annotated[
        str | None, typer.Option(help="Show the prompts and answers of this job's model calls.")
    ] = None,
    limit: Most = 50,
    json_: AsJson = False,
) -> None:
    """List jobs, the newest first, or the model calls of one."""
    memory = Palimpsest()
    if calls:
        columns = {
            "at": "at", "model": "model", "prompt": "text", "answer": "answer", "error": "error",
        }  # fmt: skip
        shown.rows(list(memory.model_calls(calls, limit=limit)), columns, json_wanted=json_)
        return
    if not user and not failed:
        raise typer.BadParameter("Name a --user, or --failed.")
    listed = list(memory.jobs(user_id=user, state="failed" if failed else None, limit=limit))
    if retry:
        for job in listed:
            if job["state"] == "failed":
                memory.job(job["job_id"]).retry()
    columns = {
        "id": "job_id",
        "kind": "kind",
        "state": "state",
        "user": "user_id",
        "session": "session_id",
        "error": "error",
        "at": "created_at",
    }
    shown.rows(listed, columns, json_wanted=json_)


@app.command()
def erase(
    user: User,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json_: AsJson = False,
) -> None:
    """Remove all data of a user, for good, and show the receipt."""
    if not yes:
        typer.confirm(f"Erase everything of {user}, for good?", abort=True, err=True)
    shown.facts(Palimpsest().user(user).erase().wait().receipt or {}, json_wanted=json_)


@app.command()
def mcp(
    user: User,
    config: Annotated[
        ClientName | None,
        typer.Option(help="Print the configuration of this client instead, with the key."),
    ] = None,
) -> None:
    """Run an MCP server on standard input and output, for clients that can't send headers."""
    if config is not None:
        shown.errors.print(shown.sentence(f"Paste this into {file_of(config)}:"))
        print(configuration(config, Server(find(), user)))
        return
    with httpx2.Client(**options(find(), timeout=TIMEOUT)) as http:
        stdio.serve(http, user, lines=sys.stdin, out=sys.stdout)


def _lines(*, prompt: str) -> Iterator[str]:
    """Yield the lines that a person types, until an empty line or the end of input."""
    with suppress(EOFError):
        yield from iter(lambda: shown.console.input(prompt), "")


def _short(saved: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: saved.get(name) for name in ("outcome", "id", "content", "topic_key", "supersedes")
    }


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}
