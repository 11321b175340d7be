"""Export and import: nothing is lost, nothing is doubled, and what can't be taken is refused by its
line.
"""

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from palimpsest.errors import Unavailable
from palimpsest.jobs.attempts import LONGEST_DELAY
from palimpsest.offline.extractor import PatternExtractor
from palimpsest.scope import Scope

from tests.service import SARAH
from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client
from tests.unit.transfer.files import MAKE_EXPORT, exported, imported

LARGE = "It was the best of times. " * 20_000


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def call(service: Service) -> Client:
    return service.client()


def lived(service: Service, call: Client, user: str = "sarah", *, session: str = "monday") -> None:
    """A user with a bit of everything."""
    said = [
        {"role": "system", "content": "You know HR."},
        {
            "role": "user",
            "content": "fact[city]: Rome",
            "id": f"{session}-1",
            "metadata": {"b": 1, "a": "é"},
        },
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ],
        },
    ]
    assert (
        call("POST", f"/v1/sessions/{session}/messages", {"user_id": user, "messages": said}).status
        == 201
    )
    call(
        "POST",
        f"/v1/sessions/{session}/messages",
        {"messages": [{"role": "user", "content": LARGE}]},
    )
    call("PATCH", f"/v1/sessions/{session}", {"metadata": {"channel": "chat"}})
    call("DELETE", f"/v1/sessions/{session}/messages")
    for city in ("Rome", "Paris", "Rome"):
        service.waiting.advance(60)
        call.save({"type": "fact", "content": f"Lives in {city}.", "topic_key": "city"}, user=user)
    call.save(
        {"type": "event", "content": "Ran 10 km.", "metadata": {"shoes": "red"}},
        "Likes tea.",
        user=user,
    )
    for space, size in (("photos", 3), ("notes", 2)):
        given = [
            {"id": f"v{number}", "values": [0.1 * number] * size, "metadata": {"n": number}}
            for number in (1, 2)
        ]
        assert (
            call("POST", f"/v1/users/{user}/vectors", {"namespace": space, "vectors": given}).status
            < 300
        )
    graph = f"/v1/users/{user}/graph"
    for number in (120, 130):
        service.waiting.advance(60)
        entity = {
            "id": "acme",
            "type": "Company",
            "name": "Acme",
            "properties": {"employees": number},
        }
        assert call("POST", f"{graph}/entities", {"entities": [entity]}).status == 201
    relationship = {
        "type": "WORKS_AT",
        "from": user,
        "to": "acme",
        "single": True,
        "source": {"session_id": session},
    }
    assert call("POST", f"{graph}/relationships", {"relationships": [relationship]}).status == 201
    call("PUT", f"/v1/users/{user}/preferences/theme", {"value": {"dark": True}})
    call(
        "POST",
        f"/v1/sessions/{session}/messages",
        {"messages": [{"role": "user", "content": "fact[pet]: a cat"}]},
    )
    call("POST", f"/v1/sessions/{session}/end")
    service.drain()


def test_export_erase_import_export_is_the_same_byte_for_byte(
    service: Service, call: Client
) -> None:
    lived(service, call)
    lived(service, call, session="tuesday")
    before = exported(service, call)
    shown = _shown(call)
    assert call("DELETE", "/v1/users/sarah").status == 202
    service.drain()
    assert "record" not in exported(service, call)
    counts = imported(service, call, before)
    assert counts["conflicts"] == counts["there"] == 0
    assert exported(service, call) == before
    assert _shown(call) == shown
    kinds = [json.loads(line)["kind"] for line in before.splitlines()]
    assert kinds[:3] == ["export", "user", "session"]
    assert {"progress", "compaction", "message", "record", "namespace", "vector", "end"} <= set(
        kinds
    )


def test_what_was_imported_is_erased_and_imported_again_as_often_as_wanted(
    service: Service, call: Client
) -> None:
    lived(service, call)
    before = exported(service, call)
    for _ in range(3):
        job = call("DELETE", "/v1/users/sarah").json["job_id"]
        service.drain()
        assert call("GET", f"/v1/jobs/{job}").json["state"] == "done"
        assert imported(service, call, before)["there"] == 0
        assert exported(service, call) == before
        more = {"messages": [{"role": "user", "content": "fact[tea]: I like tea."}]}
        last = call("POST", "/v1/sessions/monday/messages", more).json["messages"][0]["seq"]
        ended = call("POST", "/v1/sessions/monday/end").json["job_id"]
        withdrawn = call("DELETE", "/v1/sessions/monday/messages", query={"from": str(last)}).json[
            "job_id"
        ]
        service.drain()
        assert [call("GET", f"/v1/jobs/{each}").json["state"] for each in (ended, withdrawn)] == [
            "done",
            "done",
        ]


def _shown(call: Client) -> list[Any]:
    """What a caller sees of Sarah: histories, contexts, memories with all versions."""
    paths = [
        f"/v1/sessions/{name}{rest}"
        for name in ("monday", "tuesday")
        for rest in ("/messages", "/compactions")
    ]
    memories = call("GET", "/v1/users/sarah/memories").json["memories"]
    versions = [
        call("GET", f"/v1/users/sarah/memories/{memory['id']}/history").json for memory in memories
    ]
    return [
        *(call("GET", path).json for path in paths),
        [_plain(memory) for memory in memories],
        versions,
    ]


def _plain(memory: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in memory.items()
        if name not in ("access_count", "last_accessed_at", "decay")
    }


@pytest.mark.parametrize(
    ("limits", "code", "there"),
    [({"memories": 3}, "memory_limit", (1, 3)), ({"sessions": 1}, "session_limit", (1, 0))],
)
def test_an_import_ends_where_a_limit_is_reached_and_goes_on_when_it_is_raised(
    service: Service, call: Client, limits: dict[str, int], code: str, there: tuple[int, int]
) -> None:
    lived(service, call)
    if code == "session_limit":
        call.append("tuesday", "hello")
    before = exported(service, call)
    other = service.client(tenant="other")
    other("PUT", "/v1/settings", {"limits": limits})
    job = other("POST", "/v1/users/sarah/import", {"data": before}).json["job_id"]
    service.drain()
    found = other("GET", f"/v1/jobs/{job}").json
    assert (found["state"], found["error"], found["result"]["line"] > 1) == ("failed", code, True)
    assert other("GET", "/v1/users/sarah").json["sessions"]["total"] == there[0]
    sarah = Scope("other").user("sarah")
    assert service.memories.current(sarah) == there[1]
    again = retried(service, other, job)
    assert again["error"] == code, "nobody has raised the limit"
    other("PUT", "/v1/settings", {})
    assert retried(service, other, again["job_id"])["state"] == "done"
    assert service.memories.current(sarah) == service.memories.current(SARAH)
    assert counted(exported(service, other)) == counted(before)


def retried(service: Service, call: Client, job: str) -> dict[str, Any]:
    """The job's next attempt, as it ends."""
    again = call("POST", f"/v1/jobs/{job}/retry").json["job_id"]
    service.drain()
    found: dict[str, Any] = call("GET", f"/v1/jobs/{again}").json
    return found


def counted(text: str) -> Counter[str]:
    """How many lines of each kind there are."""
    return Counter(json.loads(line)["kind"] for line in text.splitlines())


def test_an_import_twice_makes_no_doubles_and_life_goes_on_behind_it(
    service: Service, call: Client
) -> None:
    lived(service, call)
    text = exported(service, call)
    counts = imported(service, call, text)
    assert counts["restored"] == counts["conflicts"] == 0
    assert exported(service, call) == text
    call("DELETE", "/v1/users/sarah")
    service.drain()
    imported(service, call, text)
    assert call.append("monday", "Are you still there?").status == 201
    again = imported(service, call, text)
    assert (again["restored"], again["conflicts"]) == (0, 0)
    history = call("GET", "/v1/sessions/monday/messages").json["messages"]
    assert [each["seq"] for each in history] == list(range(1, len(history) + 1))
    assert history[-1]["content"] == "Are you still there?"


def test_another_tenant_gets_the_same_ids_and_another_user_may_be_named(
    service: Service, call: Client
) -> None:
    lived(service, call)
    text = exported(service, call)
    other = service.client(tenant="other")
    imported(service, other, text, "/v1/users/sara/import")
    again = exported(service, other, "/v1/users/sara/export")
    assert again.count('"sara') > 1
    assert without_relationships(again).replace('"sara"', '"sarah"') == without_relationships(text)
    assert other("GET", "/v1/users/sarah").json["memories"]["total"] == 0


def without_relationships(text: str) -> str:
    """Their ids are made from the id of the user."""
    return "\n".join(line for line in text.split("\n") if '"type":"relationship"' not in line)


def test_a_graph_that_is_imported_for_another_user_begins_at_that_user(
    service: Service, call: Client
) -> None:
    lived(service, call)
    known = {"type": "KNOWS", "from": "acme", "to": "sarah", "id": "own"}
    call("POST", "/v1/users/sarah/graph/relationships", {"relationships": [known]})
    text = exported(service, call)
    other = service.client(tenant="other")
    imported(service, other, text, "/v1/users/sara/import")
    graph = "/v1/users/sara/graph"
    works = {"type": "WORKS_AT", "from": "sara", "to": "acme", "single": True}
    shown = other("GET", f"{graph}/relationships").json["relationships"]
    assert {(each["type"], each["from"], each["to"]) for each in shown} == {
        ("WORKS_AT", "sara", "acme"),
        ("KNOWS", "acme", "sara"),
    }
    around = other("GET", f"{graph}/entities/sara/neighbors").json
    assert "acme" in [each["id"] for each in around["entities"]], around
    # The relationship of the import and the same one of a later call are one.
    other("POST", f"{graph}/relationships", {"relationships": [works]})
    assert len(other("GET", f"{graph}/relationships").json["relationships"]) == 2
    assert imported(service, other, text, "/v1/users/sara/import")["restored"] == 0
    assert "sarah" not in exported(service, other, "/v1/users/sara/export")


def test_the_whole_tenant_is_exported_and_imported_by_its_admin(
    service: Service, call: Client
) -> None:
    lived(service, call)
    lived(service, call, "david", session="david-1")
    text = exported(service, call, "/v1/export")
    assert [
        json.loads(line)["user_id"] for line in text.splitlines() if '"kind":"user"' in line
    ] == ["david", "sarah"]
    other = service.client(tenant="other")
    imported(service, other, text, "/v1/import")
    assert exported(service, other, "/v1/export") == text
    writer = service.client(scopes="read write")
    assert (
        writer("POST", "/v1/export").status
        == writer("POST", "/v1/import", {"data": text}).status
        == 403
    )


def test_an_export_can_be_imported_by_its_job_and_goes_with_its_user(
    service: Service, call: Client
) -> None:
    lived(service, call)
    job = call("POST", MAKE_EXPORT).json["job_id"]
    service.drain()
    again = call("POST", "/v1/users/sarah/import", {"data": {"export_job_id": job}})
    service.drain()
    assert call("GET", f"/v1/jobs/{again.json['job_id']}").json["result"]["restored"] == 0
    for path in ("/v1/users/david/import", "/v1/import"):
        assert (
            call("POST", path, {"data": {"export_job_id": job}}).json["code"] == "export_not_found"
        )
    call("DELETE", "/v1/users/sarah")
    service.drain()
    assert not list(service.blobs.keys("exports/acme/user/"))
    assert call("GET", f"/v1/jobs/{job}").json["files"] == []


def test_a_session_that_lives_on_in_its_place_is_a_conflict_and_stays(
    service: Service, call: Client
) -> None:
    lived(service, call)
    text = exported(service, call)
    other = service.client(tenant="other")
    other.append("monday", "Something else.")
    assert imported(service, other, text)["conflicts"] == 1
    (message,) = other("GET", "/v1/sessions/monday/messages").json["messages"]
    assert message["content"] == "Something else."


def test_writes_that_go_on_are_not_half_in_the_file(service: Service, call: Client) -> None:
    """Between the pages of an export a session grows: the file has it as it was when its first line
    was written.
    """
    for number in range(5):
        call.append("monday", *(f"{number}.{each}" for each in range(50)))
    job = service.job(call("POST", MAKE_EXPORT).json["job_id"])
    kind = service.removal.handlings["export"].step.kinds[0]  # type: ignore[attr-defined]
    page = kind.page
    grown: list[int] = []

    def growing(scope: Any, place: str | None) -> Any:
        found = page(scope, place)
        grown.append(len(grown))
        call.append("monday", f"later {len(grown)}")
        return found

    object.__setattr__(kind, "page", growing)
    service.handle(job)
    text = b"".join(
        service.blobs.get(key) or b"" for key in service.blobs.keys("exports/")
    ).decode()
    rows = [json.loads(line) for line in text.splitlines()]
    head = next(row["head"] for row in rows if row["kind"] == "session")
    assert (
        [row["seq"] for row in rows if row["kind"] == "message"]
        == list(range(1, head["seq"] + 1))
        == list(range(1, 251))
    )
    assert len(grown) > 2
    assert imported(service, service.client(tenant="other"), text)["restored"] == 1


def _lines(change: Callable[[list[str]], list[str]]) -> Callable[[str], str]:
    return lambda text: "".join(f"{line}\n" for line in change(text.splitlines()))


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (_lines(lambda lines: lines[:-1]), None),
        (_lines(lambda lines: [*lines[:4], *lines[5:]]), None),
        (_lines(lambda lines: [*lines[:3], lines[3][:-5], *lines[4:]]), 4),
        (_lines(lambda lines: lines[1:]), 1),
        (
            _lines(
                lambda lines: ['{"kind":"export","format":"palimpsest","version":2}', *lines[1:]]
            ),
            1,
        ),
        (_lines(lambda lines: [*lines[:2], '{"kind":"memory","memory":"x"}', *lines[2:]]), 3),
        (_lines(lambda lines: [*lines[:2], '{"kind":"message","session_id":"x"}', *lines[2:]]), 3),
        (_lines(lambda lines: [line.replace('"tokens":', '"token":') for line in lines]), None),
        (lambda text: text.replace('"seq":2,', '"seq":-1,'), None),
        (lambda text: text.replace('"seq":2,', '"seq":1,'), None),
        (lambda text: text.replace('"seq":3,"session_id"', '"seq":99,"session_id"'), None),
        (lambda text: text.replace('"role":"user"', '"role":"wizard"'), None),
        (lambda text: re.sub('"tokens":[0-9]+', '"tokens":-5', text), None),
        (lambda text: re.sub('"total_messages":[0-9]+', '"total_messages":-1', text), None),
        (lambda text: re.sub('"turn":3', '"turn":3,"window_start":50', text, count=1), None),
        (lambda text: text.replace('"tokens":6', '"tokens":NaN'), None),
        (lambda text: text.replace('"tokens":6', '"tokens":1e999'), None),
        (lambda text: text.replace('"content":"one"', '"content":5'), None),
        (lambda text: text.replace('"content":"one"', '"content":"\\ud800"'), None),
        (lambda text: text.replace('"content":"one"', '"tool_calls":5'), None),
        (lambda text: text.replace('"role":"user"', '"role":"tool"'), None),
        (lambda text: re.sub('"created_at":"[^"]+"', '"created_at":"today"', text), None),
        (
            lambda text: re.sub('"updated_at":[0-9]+', '"updated_at":1000000000000000000', text),
            None,
        ),
        (lambda text: re.sub('"id":"mem_', '"id":"../mem_', text), None),
        (lambda text: re.sub('"content":"Likes tea."', '"content":""', text), None),
        (
            lambda text: text.replace('"content":"Likes tea."', '"content":"' + "x" * 5_000 + '"'),
            None,
        ),
        (lambda text: text.replace('"content":"Likes tea."', '"content":"x","importance":7'), None),
        (
            lambda text: text.replace(
                '"content":"Likes tea."', '"content":"x","data":"' + "x" * 400_000 + '"'
            ),
            None,
        ),
        (
            lambda text: re.sub('"valid_from":[0-9]+', '"valid_from":1000000000000000000', text),
            None,
        ),
        (lambda text: re.sub('"expires_at":[0-9]+', '"expires_at":1000000000000000', text), None),
        (lambda text: text.replace('"topic_key":"city"', '"topic":5,"topic_key":"city"'), None),
        (lambda text: re.sub('"order":[^]]+', '"order":[1', text), None),
        (lambda text: text.replace('"dimension":2', '"dimension":3'), None),
        (lambda text: re.sub('"head":{', '"head":5,"settings":{', text), None),
        (_lines(lambda lines: [*lines[:3], "[" * 100_000, *lines[4:]]), 4),
        (lambda text: text + text, None),
        (lambda text: "PK\x03\x04 not an export", 1),
        (lambda text: '[{"memory": "of another service"}]', 1),
    ],
)
def test_a_damaged_or_foreign_file_is_refused_by_its_line_and_nothing_is_written(
    service: Service, call: Client, damage: Callable[[str], str], line: int | None
) -> None:
    call.append("monday", "one", "two", "three")
    call.save("Likes tea.", {"type": "fact", "content": "Lives in Rome.", "topic_key": "city"})
    call("POST", "/v1/users/sarah/vectors", {"vectors": [{"id": "v", "values": [1, 2]}]})
    text = exported(service, call)
    other = service.client(tenant="other")
    assert damage(text) != text
    answer = other("POST", "/v1/users/sarah/import", {"data": damage(text)})
    assert (answer.status, answer.json["code"]) == (422, "invalid_import"), answer.text
    named = answer.json["errors"][0]["field"]
    assert named.startswith("line ")
    assert line is None or named == f"line {line}"
    assert not list(service.blobs.keys("imports/"))
    assert other("GET", "/v1/users").json["users"] == []


def sent(
    call: Client, text: str, *, size: int, path: str = "/v1/users/sarah/import"
) -> dict[str, Any]:
    """Send the text in parts, the last one first, and begin their import."""
    parts = [text[start : start + size] for start in range(0, len(text), size)]
    for number, part in reversed(list(enumerate(parts))):
        answer = call("PUT", f"{path}/move/{number}", {"data": part})
        assert answer.json == {"upload_id": "move", "part": number, "bytes": len(part.encode())}
        assert call("PUT", f"{path}/move/{number}", {"data": part}).status == 200
    begun: dict[str, Any] = call("POST", path, {"data": {"upload_id": "move"}}).json
    return begun


@pytest.mark.parametrize("size", [997, 10**6])
def test_what_no_request_holds_is_imported_in_parts_into_another_tenant(
    service: Service, call: Client, size: int
) -> None:
    lived(service, call)
    text = exported(service, call)
    other = service.client(tenant="other")
    job = sent(other, text, size=size)
    service.drain()
    found = other("GET", f"/v1/jobs/{job['job_id']}").json
    assert (found["state"], found["result"]["conflicts"]) == ("done", 0)
    assert exported(service, other) == text
    assert not list(service.blobs.keys("imports/"))


def test_a_tenants_parts_are_imported_too_and_are_nobody_elses(
    service: Service, call: Client
) -> None:
    lived(service, call)
    text = exported(service, call, "/v1/export")
    other = service.client(tenant="other")
    assert sent(other, text, size=5_000, path="/v1/import")["state"] == "pending"
    refused = call("POST", "/v1/import", {"data": {"upload_id": "move"}})
    assert (refused.status, refused.json["code"]) == (422, "invalid_import")
    assert call("POST", "/v1/users/sarah/import", {"data": {"upload_id": "move"}}).status == 422
    service.drain()
    assert exported(service, other, "/v1/export") == text


def test_a_damaged_line_of_the_parts_fails_the_job_that_names_it_and_nothing_is_stored(
    service: Service, call: Client
) -> None:
    lived(service, call)
    lines = exported(service, call).splitlines(keepends=True)
    lines[7] = lines[7].replace('"', "", 1)
    other = service.client(tenant="other")
    job = sent(other, "".join(lines), size=1_000)["job_id"]
    service.drain()
    found = other("GET", f"/v1/jobs/{job}").json
    assert (found["state"], found["error"], found["result"]) == (
        "failed",
        "invalid_import",
        {"line": 8},
    )
    assert other("GET", "/v1/users").json["users"] == []
    assert not list(service.blobs.keys("imports/"))


def test_a_part_that_is_missing_or_another_text_in_its_place_is_refused(
    service: Service, call: Client
) -> None:
    path = "/v1/users/sarah/import"
    assert call("PUT", f"{path}/u/1", {"data": "x"}).status == 200
    assert "Part 0 was not sent" in call("POST", path, {"data": {"upload_id": "u"}}).json["detail"]
    assert call("PUT", f"{path}/u/1", {"data": "y"}).json["code"] == "invalid_import"
    assert call("PUT", f"{path}/a%20b/0", {"data": "x"}).status == 400
    assert call("PUT", f"{path}/u/0", {"data": ""}).status == 422
    assert [call("PUT", f"{path}/u/{part}", {"data": "x"}).status for part in (-1, 10_000)] == [
        422,
        422,
    ]


def test_erasing_the_user_removes_what_was_sent_of_them(service: Service, call: Client) -> None:
    call("PUT", "/v1/users/sarah/import/u/0", {"data": "x"})
    call("PUT", "/v1/users/sarah2/import/u/0", {"data": "x"})
    call("DELETE", "/v1/users/sarah")
    service.drain()
    assert list(service.blobs.keys("imports/")) == ["imports/acme/user/sarah2/u/000000.jsonl"]


def test_what_stops_in_between_goes_on_to_the_end(service: Service, call: Client) -> None:
    lived(service, call)
    text = exported(service, call)
    other = service.client(tenant="other")
    answer = other("POST", "/v1/users/sarah/import", {"data": text})
    job = service.outbox[-1]
    writes: list[str] = []
    for stop in range(1, 40):
        writes.clear()

        def cut_off(step: str, at: int = stop) -> None:
            writes.append(step)
            if len(writes) == at:
                raise KeyboardInterrupt

        service.sessions.state.faults = cut_off
        try:
            service.handle(job)
        except KeyboardInterrupt:
            continue
        finally:
            service.sessions.state.faults = lambda _: None
        break
    service.drain()
    assert other("GET", f"/v1/jobs/{answer.json['job_id']}").json["state"] == "done"
    assert exported(service, other) == text


@pytest.mark.parametrize("way", ["text", "upload"])
def test_an_import_that_is_under_way_brings_nothing_of_an_erased_user_back(
    service: Service, call: Client, way: str
) -> None:
    lived(service, call)
    text = exported(service, call)
    call("DELETE", "/v1/users/sarah")
    service.drain()
    path = "/v1/users/sarah/import"
    begun = (
        call("POST", path, {"data": text}).json if way == "text" else sent(call, text, size=5_000)
    )
    call("DELETE", "/v1/users/sarah")
    service.drain()
    job = call("GET", f"/v1/jobs/{begun['job_id']}").json
    assert job["state"] == "failed"
    assert call("GET", "/v1/users/sarah").json["memories"]["total"] == 0
    assert call("GET", "/v1/sessions", query={"user_id": "sarah"}).json["sessions"] == []
    assert not list(service.blobs.keys("imports/"))
    assert imported(service, call, text)["restored"] > 0


def test_a_tenants_import_that_is_under_way_passes_over_a_user_who_is_erased(
    service: Service, call: Client
) -> None:
    for user in ("david", "sarah"):
        lived(service, call, user, session=f"{user}-1")
        call("DELETE", f"/v1/users/{user}")
        service.drain()
        call(
            "POST",
            f"/v1/users/{user}/memories",
            {"memories": [{"type": "fact", "content": "Came back."}]},
        )
    text = exported(service, call, "/v1/export")
    begun = call("POST", "/v1/import", {"data": text}).json
    service.time.advance(1)
    call("DELETE", "/v1/users/sarah")
    service.drain()
    job = call("GET", f"/v1/jobs/{begun['job_id']}").json
    assert (job["state"], job["result"]["erased"], job["result"]["there"]) == ("done", 1, 1)
    assert call("GET", "/v1/users/sarah").json["memories"]["total"] == 0
    assert call("GET", "/v1/users/david").json["memories"]["total"] == 1
    service.time.advance(1)
    assert imported(service, call, text, "/v1/import")["restored"] == 1


def test_what_an_import_that_failed_had_been_sent_goes_with_its_user(
    service: Service, call: Client
) -> None:
    call.save("Likes tea.", "Likes coffee.")
    text = exported(service, call)
    other = service.client(tenant="other")
    other("PUT", "/v1/settings", {"limits": {"memories": 1}})
    job = other("POST", "/v1/users/sarah/import", {"data": text}).json["job_id"]
    service.drain()
    assert other("GET", f"/v1/jobs/{job}").json["error"] == "memory_limit"
    assert list(service.blobs.keys("imports/other/"))
    other("DELETE", "/v1/users/sarah")
    service.drain()
    assert not list(service.blobs.keys("imports/other/"))


def test_an_import_while_the_old_data_is_being_removed_waits_for_it(
    service: Service, call: Client
) -> None:
    lived(service, call)
    text = exported(service, call)
    call("DELETE", "/v1/users/sarah")
    removals = service.outbox[service.delivered :]
    call("POST", "/v1/users/sarah/import", {"data": text})
    (restoring,) = [job for job in service.outbox if job.kind == "import"]
    with pytest.raises(Unavailable):
        service.handle(restoring)
    assert removals
    service.drain()
    service.handle_to_the_end(restoring)
    assert exported(service, call) == text


def test_an_import_goes_on_once_another_attempt_has_removed_the_old_data(
    service: Service, call: Client
) -> None:
    lived(service, call)
    text = exported(service, call)
    for session in call("GET", "/v1/sessions", query={"user_id": "sarah"}).json["sessions"]:
        call("DELETE", f"/v1/sessions/{session['session_id']}")
    for job in service.outbox[service.delivered :]:
        service.fail(job)
    service.delivered = len(service.outbox)
    service.time.advance(LONGEST_DELAY)
    service.sweep_all()
    service.drain()
    call("POST", "/v1/users/sarah/import", {"data": text})
    service.drain()
    (restoring,) = [
        job for job in service.all_jobs() if job.kind == "import" and job.parent is None
    ]
    assert restoring.state == "done"


def test_mem0s_export_becomes_facts_once(service: Service, call: Client) -> None:
    given = {
        "results": [
            {
                "id": "m1",
                "memory": "Likes hiking.",
                "created_at": "2025-03-01T10:00:00-07:00",
                "metadata": {"x": 1},
            },
            {
                "id": "m2",
                "memory": "Lives in Lisbon.",
                "created_at": "2025-04-01T10:00:00",
                "categories": ["home"],
            },
        ]
    }
    body = {"format": "mem0", "data": given}
    assert call("POST", "/v1/users/sarah/import", body).json["result"] == {
        "restored": 2,
        "there": 0,
        "conflicts": 0,
    }
    again = {"format": "mem0", "data": json.dumps(given["results"])}
    assert call("POST", "/v1/users/sarah/import", again).json["result"] == {
        "restored": 0,
        "there": 2,
        "conflicts": 0,
    }
    found = call("GET", "/v1/users/sarah/memories").json["memories"]
    assert {each["content"]: each["valid_from"][:10] for each in found} == {
        "Likes hiking.": "2025-03-01", "Lives in Lisbon.": "2025-04-01",
    }  # fmt: skip


def test_agentcores_events_become_sessions_once(service: Service, call: Client) -> None:
    def event(number: int, *said: tuple[str, str], session: str = "s1") -> dict[str, Any]:
        payload = [
            {"conversational": {"content": {"text": text}, "role": role}} for role, text in said
        ]
        name = f"000000{number}#abc"
        return {
            "memoryId": "m",
            "actorId": "a",
            "sessionId": session,
            "eventId": name,
            "eventTimestamp": f"2025-05-01T10:0{number}:00Z",
            "payload": [*payload, {"blob": {}}],
        }

    events = [
        event(2, ("USER", "fact: likes tea")),
        event(1, ("USER", "Hi"), ("ASSISTANT", "Hello"), ("TOOL", "42")),
    ]
    body = {
        "format": "agentcore",
        "data": {"events": [*events, event(3, ("USER", "x"), session="s2")]},
    }
    assert call("POST", "/v1/users/sarah/import", body).json["result"] == {
        "restored": 2,
        "there": 0,
        "conflicts": 0,
    }
    assert call("POST", "/v1/users/sarah/import", body).json["result"] == {
        "restored": 0,
        "there": 2,
        "conflicts": 0,
    }
    rows = call("GET", "/v1/sessions/s1/messages").json["messages"]
    assert [(row["role"], row["content"]) for row in rows] == [
        ("user", "Hi"), ("assistant", "Hello"), ("assistant", "42"), ("user", "fact: likes tea"),
    ]  # fmt: skip
    assert rows[0]["timestamp"].startswith("2025-05-01T10:01")


@pytest.mark.parametrize(
    "body",
    [
        {"format": "mem0", "data": {"memories": [{"text": ""}]}},
        {"format": "mem0", "data": "{"},
        {"format": "mem0", "data": [{"memory": "x", "created_at": "yesterday"}]},
        {"format": "mem0", "data": [{"memory": "x", "created_at": 1e18}]},
        {"format": "mem0", "data": [{"memory": "x", "created_at": "9999-12-31T23:59:59-14:00"}]},
        {"format": "mem0", "data": [{"memory": "x", "categories": 5}]},
        {"format": "mem0", "data": [{"memory": "x", "metadata": {str(n): n for n in range(65)}}]},
        {"format": "mem0", "data": [{"memory": "x", "metadata": {"n": "x" * 20_000}}]},
        {"format": "mem0", "data": "[" * 100_000},
        {"format": "agentcore", "data": {"events": [{"sessionId": "s"}]}},
        {"format": "agentcore", "data": [7]},
        {"format": "mem0"},
        {"data": {"lines": []}},
        {},
        {"data": {"export_job_id": "job_1", "more": 1}},
    ],
)
def test_what_is_no_such_export_is_refused_and_nothing_is_written(
    service: Service, call: Client, body: dict[str, Any]
) -> None:
    answer = call("POST", "/v1/users/sarah/import", body)
    assert answer.status == 422, answer.text
    assert answer.json["errors"]
    assert call("GET", "/v1/users").json["users"] == []
    assert not service.outbox


@pytest.mark.parametrize(
    "change",
    [
        {"data": {}},
        {"data": {"type": "A`) x", "name": "x"}},
        {"data": {"type": "Preference", "name": "x"}},
        {"topic_key": "x"},
    ],
)
def test_an_import_of_no_entity_is_refused(
    service: Service, call: Client, change: dict[str, Any]
) -> None:
    entity = {"id": "acme", "type": "Company", "name": "Acme"}
    call("POST", "/v1/users/sarah/graph/entities", {"entities": [entity]})
    rows = [json.loads(line) for line in exported(service, call).splitlines()]
    text = "".join(
        json.dumps(row | change if row["kind"] == "record" else row) + "\n" for row in rows
    )
    refused = call("POST", "/v1/users/sarah/import", {"data": text})
    assert (refused.status, refused.json["code"]) == (422, "invalid_import")


def test_an_imported_graph_is_walked_through_as_before(service: Service, call: Client) -> None:
    lived(service, call)
    text = exported(service, call)
    before = call("GET", "/v1/users/sarah/graph/entities/sarah/neighbors").json
    service.waiting.work = service.drain
    assert call("DELETE", "/v1/users/sarah", query={"wait": 5}).status == 200
    assert call("GET", "/v1/users/sarah/graph/entities/sarah/neighbors").json["entities"] == []
    assert imported(service, call, text)["conflicts"] == 0
    assert call("GET", "/v1/users/sarah/graph/entities/sarah/neighbors").json == before


def test_an_imported_fact_still_knows_what_was_drawn_from_it(
    service: Service, call: Client
) -> None:
    service.extractor = PatternExtractor()
    service.wire_workers()
    service.waiting.work = service.drain
    call.append("s", "I live in Hamburg.")
    assert call("POST", "/v1/sessions/s/extract", {"wait": 5}).status == 200
    text = exported(service, call)
    assert call("DELETE", "/v1/users/sarah", query={"wait": 5}).status == 200
    assert imported(service, call, text)["conflicts"] == 0
    service.time.advance(60)
    call.save({"type": "fact", "content": "Lives in Bremen", "topic_key": "residence"})
    assert call("GET", "/v1/users/sarah/graph/entities/sarah/neighbors").json["entities"] == []
    (edge,) = call("GET", "/v1/users/sarah/graph/relationships").json["relationships"]
    assert edge["valid_to"] is not None
