"""Every other call of the client: a user's memory, lists, jobs, settings, files of conversations,
and where it is.
"""

import inspect
import json
from pathlib import Path
from typing import Any

import anyio
import palimpsest_client as package
import palimpsest_client.users
import pytest
from palimpsest_client import AsyncPalimpsest, JobFailed, NotConfigured, Palimpsest, errors
from palimpsest_client.connection import Endpoint, find
from palimpsest_client.exchange import lines_of, transcripts

from tests.served import KEY, Served

PAIRS = (
    ("Palimpsest", "AsyncPalimpsest"),
    ("User", "AsyncUser"),
    ("Session", "AsyncSession"),
    ("Job", "AsyncJob"),
)


def test_a_memory_is_saved_found_changed_and_reverted(memory: Palimpsest) -> None:
    sarah = memory.user("sarah")
    first = sarah.remember("Sarah lives in Hamburg.", topic="residence", importance=0.9)
    second = sarah.remember("Sarah lives in Bremen.", topic="residence")
    assert (first["outcome"], second["supersedes"]) == ("created", first["id"])
    assert (
        sarah.recall("Where does Sarah live?")["memories"][0]["content"] == "Sarah lives in Bremen."
    )
    assert [version["content"] for version in sarah.history(first["id"])] == [
        "Sarah lives in Bremen.", "Sarah lives in Hamburg.",
    ]  # fmt: skip
    assert sarah.revert(first["id"])["content"] == "Sarah lives in Hamburg."
    assert [each["content"] for each in sarah.memories(topic_key="residence")] == [
        "Sarah lives in Hamburg."
    ]
    changed = sarah.change(next(sarah.memories())["id"], importance=0.5)
    assert changed["importance"] == 0.5
    assert [sarah.change(changed["id"], data=data)["data"] for data in ({"a": 1}, None)] == [
        {"a": 1},
        None,
    ]
    assert [each["content"] for each in sarah.search("Hamburg")] == ["Sarah lives in Hamburg."]
    assert sarah.would_forget({"types": ["fact"]}) == [changed["id"]]
    assert sarah.forget({"types": ["fact"]}, wait=20).is_done
    assert list(sarah.memories()) == []


def test_a_profile_says_who_a_user_is(memory: Palimpsest) -> None:
    sarah = memory.user("sarah")
    assert (sarah.profile()["sections"], sarah.profile()["text"]) == ([], "")
    saved = sarah.remember("Sarah lives in Bremen.", topic="residence")
    profile = sarah.profile()
    assert [section["kind"] for section in profile["sections"]] == ["who"]
    assert f"- Sarah lives in Bremen. [{saved['id']}]\n" in profile["text"]
    assert "- Sarah lives in Bremen.\n" in sarah.profile(ids=False)["text"]


def test_lists_are_read_page_by_page_as_far_as_they_are_wanted(
    memory: Palimpsest, served: Served
) -> None:
    sarah = memory.user("sarah")
    for start in range(0, 120, 30):
        sarah.remember_all(
            [
                {"type": "fact", "content": f"Fact {n}", "subject": f"s{n}"}
                for n in range(start, start + 30)
            ]
        )
    served.seen.clear()
    assert len({each["id"] for each in sarah.memories()}) == 120
    assert len(served.seen) == 2
    served.seen.clear()
    assert len(list(sarah.memories(limit=7))) == 7
    assert len(served.seen) == 1
    assert [user["user_id"] for user in memory.users()] == ["sarah"]


def test_a_job_is_waited_for_and_shows_what_became_of_every_message(
    memory: Palimpsest, served: Served
) -> None:
    (job,) = memory.user("sarah").ingest(
        ["I live in Hamburg.", {"role": "assistant", "content": "Noted."}]
    )
    assert job.wait(timeout=20).ledger is not None
    assert job.ledger
    assert (
        job.ledger["received"]
        == job.ledger["extracted"] + job.ledger["skipped"] + job.ledger["parked"]
        == 2
    )
    assert [memory.user("sarah").memory(record)["content"] for record in job.records] == [
        "I live in Hamburg."
    ]
    with pytest.raises(errors.JobNotFailed):
        job.retry()
    served.works = False
    (late,) = memory.user("sarah").ingest(["I work in Marketing."])
    with pytest.raises(package.JobNotEnded):
        late.wait(timeout=0)


def test_a_job_that_failed_is_an_error_and_is_done_again(
    memory: Palimpsest, served: Served
) -> None:
    (job,) = memory.user("sarah").ingest(["I live in Hamburg."])
    assert job.wait().is_done
    job.shown |= {"state": "failed", "error": "model_unavailable"}
    with pytest.raises(JobFailed, match="model_unavailable"):
        job.wait()


def test_an_erasure_has_a_receipt_and_leaves_nothing(memory: Palimpsest) -> None:
    memory.session("s1", user="sarah").say("I live in Hamburg.")
    memory.user("sarah").remember("Sarah likes tea.")
    receipt = memory.user("sarah").erase().wait().receipt
    assert receipt
    assert receipt["memories"]["state"] == "done"
    assert list(memory.user("sarah").memories()) == []
    with pytest.raises(errors.SessionNotFound):
        memory.session("s1").read()


def test_a_transcript_of_any_length_is_taken_in_once(
    memory: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(palimpsest_client.users, "MOST_INGESTED", 20)
    told = [{"role": "user", "content": f"I own {number} books."} for number in range(120)]
    sarah = memory.user("sarah")
    assert sarah.ingest(told[:40], session="long")[0].wait().is_done
    assert sarah.ingest(told, session="long")[0].wait().is_done
    assert sarah.ingest(told, session="long")[0].wait().is_done
    assert memory.session("long").read()["totals"]["messages"] == 120
    assert [row["content"] for row in memory.session("long").messages(limit=3, order="desc")] == [
        f"I own {number} books." for number in (119, 118, 117)
    ]


def test_memories_are_learned_from_a_history_that_is_not_stored(memory: Palimpsest) -> None:
    told = [{"id": "m1", "role": "user", "content": "I live in Hamburg."}]
    sarah = memory.user("sarah")
    assert sarah.learn(told, session="s1", wait=20).is_done
    (known,) = sarah.memories()
    assert (known["content"], known["source"]["message_ids"]) == ("I live in Hamburg.", ["m1"])
    assert sarah.learn(told, session="s1").shown["appended"] == 0
    assert "content" not in memory.session("s1").message(1)


def test_preferences_are_set_read_listed_and_deleted(memory: Palimpsest) -> None:
    sarah = memory.user("sarah")
    made = sarah.prefer({"theme": {"dark": True}, "language": "German"})
    assert [each["key"] for each in made] == ["theme", "language"]
    assert sarah.preference("theme")["value"] == {"dark": True}
    assert [preference["key"] for preference in sarah.preferences()] == ["language", "theme"]
    assert sarah.delete_preference("theme")["deleted"] is True
    with pytest.raises(errors.PreferenceNotFound):
        sarah.preference("theme")
    assert sarah.delete_preferences(wait=20).is_done
    assert list(sarah.preferences()) == []


def test_names_are_set_read_and_removed(memory: Palimpsest) -> None:
    sarah = memory.user("u-17")
    assert sarah.set_names("Sarah", aliases=["sj"])["aliases"] == ["sj"]
    assert sarah.read()["name"] == "Sarah"
    assert sarah.set_names() == {"user_id": "u-17", "name": None, "aliases": []}


def test_vectors_are_stored_searched_counted_and_deleted(memory: Palimpsest) -> None:
    sarah = memory.user("sarah")
    east, north = (
        {"id": "east", "values": [1.0, 0.1], "metadata": {"floor": 1}},
        {"id": "north", "values": [0.0, 1.0]},
    )
    assert sarah.put_vectors([east, north], namespace="photos")["count"] == 2
    (best,) = sarah.search_vectors(values=[1.0, 0.0], top_k=1, namespace="photos")
    assert (best["id"], best["metadata"]) == ("east", {"floor": 1})
    assert sarah.search_vectors(values=[1.0, 0.0], filter={"floor": 2}, namespace="photos") == []
    assert sarah.vector_stats()["count"] == 2
    assert sarah.delete_vectors("east", namespace="photos")["count"] == 1
    assert sarah.delete_vectors(namespace="photos")["count"] == 1


def test_more_than_a_hundred_vectors_are_sent_in_parts_and_deleted_in_parts(
    memory: Palimpsest,
) -> None:
    sarah = memory.user("sarah")
    many = [{"id": f"v{number}", "values": [1.0, number + 1.0]} for number in range(230)]
    assert sarah.put_vectors(many, key="all")["count"] == 230
    assert sarah.put_vectors(many, key="all")["count"] == 230
    assert len(sarah.search_vectors(values=[1.0, 1.0], top_k=100, min_score=0.9)) < 10
    assert sarah.delete_vectors(*(f"v{number}" for number in range(150)))["count"] == 150
    assert sarah.vector_stats()["count"] == 80
    with pytest.raises(errors.Problem):
        sarah.put_vectors([])


def test_a_message_is_redacted_in_its_place(memory: Palimpsest) -> None:
    chat = memory.session("s1", user="sarah")
    chat.say("My card is 4711.")
    assert chat.redact(1, "[redacted]", metadata={"by": "us"}, wait=20).is_done
    assert (chat.message(1)["content"], chat.message(1)["metadata"]) == ("[redacted]", {"by": "us"})
    with pytest.raises(errors.MessageNotFound):
        chat.redact(9, "x")


def test_what_is_exported_is_imported_elsewhere_in_parts_of_any_size(
    memory: Palimpsest, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.session("s1", user="sarah").say("I live in München, near the Isar.")
    memory.user("sarah").remember("Sarah likes tea.")
    count = memory.user("sarah").export(tmp_path / "sarah.jsonl")
    text = (tmp_path / "sarah.jsonl").read_text()
    assert text.count("\n") == count
    served.begin_anew()
    monkeypatch.setattr("palimpsest_client.exchange.PART", 100)
    job = memory.user("sarah").import_(tmp_path / "sarah.jsonl", upload="u", wait=20)
    assert (job.wait().shown["result"]["restored"], len(served.seen) > len(text) // 100) == (
        2,
        True,
    )
    memory.user("sarah").export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_text() == text
    assert memory.user("sarah").begin_import(text, wait=20).shown["result"]["restored"] == 0
    with pytest.raises(errors.InvalidImport, match="Line 1"):
        memory.user("sarah").begin_import("{}")


@pytest.mark.parametrize("text", ['{"kind":"export"}', '{"kind":"export"}\n' * 1_000, "a\0\nb"])
def test_a_text_in_place_of_a_path_is_a_clear_error(memory: Palimpsest, text: str) -> None:
    for takes in (memory.user("sarah").import_, memory.user("sarah").ingest):
        with pytest.raises(package.NotAPath, match="path of a file"):
            takes(text)
    with pytest.raises(FileNotFoundError):
        memory.user("sarah").import_("no-such-file.jsonl")


A, B, C = ({"role": "user", "content": letter} for letter in "abc")
CONVERSATIONS = [{"session_id": "1", "messages": [A, B]}, {"session_id": "2", "messages": [C]}]
MESSAGES = [{**A, "session_id": "1"}, {**B, "session_id": "1"}, {**C, "session_id": "2"}]
FILES = {
    "messages.jsonl": "\n\n".join(map(json.dumps, MESSAGES)),
    "conversations.jsonl": "\n".join(map(json.dumps, CONVERSATIONS)),
    "conversations.json": json.dumps(CONVERSATIONS),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_conversations_is_taken_in(
    memory: Palimpsest, tmp_path: Path, name: str, capsys: Any
) -> None:
    (tmp_path / name).write_text(FILES[name])
    jobs = memory.user("sarah").ingest(tmp_path / name, progress=True)
    assert [job.wait().is_done for job in jobs] == [True, True]
    assert "2 of 2 conversations" in capsys.readouterr().err
    told = {
        name: [row["content"] for row in memory.session(name).messages()] for name in ("1", "2")
    }
    assert told == {"1": ["a", "b"], "2": ["c"]}


def test_only_a_newline_ends_a_line_of_a_file(memory: Palimpsest, tmp_path: Path) -> None:
    text = "one\u2028two\x85three\x0cfour"
    (tmp_path / "chats.jsonl").write_text(
        json.dumps({"session_id": "s1", "role": "user", "content": text}, ensure_ascii=False)
    )
    memory.user("sarah").ingest(tmp_path / "chats.jsonl")
    assert memory.user("sarah").export(tmp_path / "sarah.jsonl") == 6
    assert (
        memory.user("sarah").import_(tmp_path / "sarah.jsonl").wait().shown["result"]["conflicts"]
        == 0
    )
    assert text in [message["content"] for message in memory.session("s1").messages()]


def test_one_conversation_is_a_file_too_and_a_damaged_one_is_named_with_its_line(
    tmp_path: Path,
) -> None:
    one = tmp_path / "one.json"
    one.write_text('[{"role": "user", "content": "a"}]')
    assert list(transcripts(one)) == [(None, [{"role": "user", "content": "a"}])]
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"role": "user", "content": "a"}\n{"role": \n')
    with pytest.raises(ValueError, match="line 2 is not JSON"):
        list(transcripts(bad))


def test_the_tenants_calls_are_all_there(memory: Palimpsest, served: Served) -> None:
    memory.put_static_fact("remote", "Remote work: 3 days.")
    assert [fact["content"] for fact in memory.static_facts()] == ["Remote work: 3 days."]
    assert memory.delete_static_fact("remote")["deleted"] is True
    assert memory.replace_settings(retention_days=7)["retention_days"] == 7
    assert memory.settings()["retention_days"] == 7
    assert memory.replace_settings(retention_days=None)["retention_days"] is None
    assert memory.tools(format="anthropic")[0]["name"] == "search_memory_tool"
    memory.session("s1", user="sarah").say("Hello")
    assert [session["session_id"] for session in memory.sessions(user_id="sarah")] == ["s1"]
    assert [session["session_id"] for session in memory.user("sarah").sessions()] == ["s1"]
    (job,) = memory.user("sarah").ingest(["I live in Hamburg."])
    assert [each["job_id"] for each in memory.jobs(user_id="sarah")] == [job.id]
    assert memory.job(str(job.id)).state == "done"
    assert memory.forget_sessions(user_id="sarah", wait=20).is_done
    assert memory.request("GET", "users", "sarah")["user_id"] == "sarah"


def test_what_is_changed_to_none_is_taken_away(memory: Palimpsest) -> None:
    talk = memory.session("s1", user="sarah")
    talk.begin(system="Be brief.")
    assert talk.configure(system=None)["system"] is None
    sarah = memory.user("sarah")
    (acme,) = sarah.put_entities(
        {"type": "Company", "name": "Acme", "valid_to": "2030-01-01T00:00:00Z"}
    )
    assert sarah.change_entity(acme["id"], valid_to=None)["valid_to"] is None
    talk.say("Hello")
    assert talk.redact(1, "Gone", wait=None).id


def test_a_file_of_an_export_that_is_gone_is_an_error_of_this_package() -> None:
    with pytest.raises(errors.ConnectionLost, match="can't be read"):
        list(lines_of(["http://127.0.0.1:1/gone"]))


def test_a_text_with_a_comma_is_found_by_its_metadata(memory: Palimpsest) -> None:
    sarah = memory.user("sarah")
    sarah.remember("Likes it there.", metadata={"place": "Paris, France", "n": 1})
    memory.session("s1", user="sarah").begin(metadata={"place": "Paris, France"})
    for asked in (["place=Paris, France"], ["place=Paris, France", "n=1"]):
        assert [each["content"] for each in sarah.memories(metadata=asked)] == ["Likes it there."]
    assert [
        session["session_id"] for session in memory.sessions(metadata=["place=Paris, France"])
    ] == ["s1"]


def test_a_key_that_is_missing_or_wrong_or_may_too_little_is_told(served: Served) -> None:
    with pytest.raises(errors.InvalidKey):
        Palimpsest(served.url, "pal_another").settings()
    served.keys["pal_reads"] = "read"
    with pytest.raises(errors.MissingScope):
        Palimpsest(served.url, "pal_reads").user("sarah").remember("x")


def test_no_representation_shows_the_key(memory: Palimpsest) -> None:
    assert KEY not in repr(memory) + repr(Endpoint("http://x", KEY)) + repr(vars(memory))


def test_the_service_is_found_by_what_is_given_then_the_environment_then_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("PALIMPSEST_URL", "PALIMPSEST_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "project" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project" / "deep")
    with pytest.raises(NotConfigured, match="PALIMPSEST_URL"):
        find()
    (tmp_path / "config" / "palimpsest").mkdir(parents=True)
    (tmp_path / "config" / "palimpsest" / "endpoint.json").write_text(
        '{"url": "http://kept", "api_key": "k"}'
    )
    assert find() == Endpoint("http://kept", "k")
    (tmp_path / "project" / ".local").mkdir()
    (tmp_path / "project" / ".local" / "endpoint.json").write_text(
        '{"url": "http://here", "api_key": "l"}'
    )
    assert find() == Endpoint("http://here", "l")
    monkeypatch.setenv("PALIMPSEST_URL", "https://there/")
    with pytest.raises(NotConfigured, match="PALIMPSEST_API_KEY"):
        find()  # the key of one place is not sent to another
    monkeypatch.setenv("PALIMPSEST_API_KEY", "m")
    assert find() == Endpoint("https://there", "m")
    assert find("http://given", "n") == Endpoint("http://given", "n")
    with pytest.raises(NotConfigured, match="https"):
        find("there", "n")
    for key in ("clé", "k\n"):
        with pytest.raises(NotConfigured, match="Copy it again"):
            find("https://there", key)
    (tmp_path / "project" / ".local" / "endpoint.json").write_text("[]")
    monkeypatch.delenv("PALIMPSEST_URL")
    monkeypatch.delenv("PALIMPSEST_API_KEY")
    with pytest.raises(NotConfigured, match="holds no url"):
        find()


@pytest.mark.parametrize("pair", PAIRS)
def test_both_clients_have_the_same_calls_with_the_same_parameters(pair: tuple[str, str]) -> None:
    def calls(name: str) -> dict[str, list[str]]:
        of = {
            n: each
            for n, each in inspect.getmembers(getattr(package, name), callable)
            if not n.startswith("_")
        }
        return {n: list(inspect.signature(each).parameters) for n, each in of.items()}

    assert calls(pair[0]) == calls(pair[1])


def test_a_conversation_of_the_asynchronous_client(served: Served) -> None:
    async def talk() -> None:
        async with AsyncPalimpsest(served.url, KEY) as memory:
            chat = memory.session("s1", user="sarah")
            await chat.say("I live in Hamburg.")

            async def stream() -> Any:
                for part in ("No", "ted."):
                    yield part

            turn = await chat.answer(stream())
            assert (turn.text, turn.is_done) == ("Noted.", True)
            await (await chat.end()).wait()
            assert (
                "Hamburg"
                in (await memory.session("s2", user="sarah").say("Where do I live?")).memory
            )
            assert [each["content"] async for each in memory.user("sarah").memories()] == [
                "I live in Hamburg."
            ]
            (job,) = await memory.user("sarah").ingest(["I work in Marketing."])
            assert (await job.wait()).is_done
            assert (await (await memory.user("sarah").erase()).wait()).receipt
            with pytest.raises(errors.SessionNotFound):
                await chat.read()

    anyio.run(talk)
