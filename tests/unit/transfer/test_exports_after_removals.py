"""What is removed goes from the exports that were made before, however the two meet; the receipt
counts them.
"""

from collections.abc import Callable
from typing import Any

import pytest
from palimpsest.errors import Unavailable
from palimpsest.transfer import export

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Answer, Client
from tests.unit.transfer.files import exported

SECRET = "Xanthippe"
MESSAGES = "/v1/sessions/s/messages"
Removing = Callable[[Client], Answer]


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def call(service: Service) -> Client:
    return service.client()


def memory_of(call: Client) -> str:
    found = call("GET", "/v1/users/sarah/memories").json["memories"]
    return str(
        next(each["id"] for each in found if SECRET in each["content"] and each["type"] == "fact")
    )


REMOVALS: dict[str, Removing] = {
    "redaction": lambda call: call("PATCH", f"{MESSAGES}/1", {"content": "[redacted]"}),
    "withdrawal": lambda call: call("DELETE", MESSAGES, query={"from": "1"}),
    "session": lambda call: call("DELETE", "/v1/sessions/s"),
    "session, memories kept": lambda call: call(
        "DELETE", "/v1/sessions/s", query={"keep_memories": "true"}
    ),
    "sessions": lambda call: call("POST", "/v1/sessions/forget", {"user_id": "sarah"}),
    "forget": lambda call: call(
        "POST", "/v1/users/sarah/memories/forget", {"filter": {"types": ["fact"]}}
    ),
    "erasure": lambda call: call("DELETE", "/v1/users/sarah"),
    "memory": lambda call: call("DELETE", f"/v1/users/sarah/memories/{memory_of(call)}"),
    "tool": lambda call: call(
        "POST", "/v1/users/sarah/tools/forget", {"arguments": {"memory": f"The boat is {SECRET}."}}
    ),
    "mem0": lambda call: call("DELETE", f"/compat/mem0/memories/{memory_of(call)}@sarah"),
    "preference": lambda call: call("DELETE", "/v1/users/sarah/preferences/pin"),
    "entity": lambda call: call("DELETE", "/v1/users/sarah/graph/entities/acme"),
    "relationship": lambda call: call("DELETE", "/v1/users/sarah/graph/relationships/works"),
    "vectors": lambda call: call("DELETE", "/v1/users/sarah/vectors", query={"ids": "v"}),
}


def lived(service: Service, call: Client, user: str = "sarah", session: str = "s") -> None:
    """A user whose every store holds the secret."""
    said = {"role": "user", "content": f"My pin is {SECRET}."}
    call("POST", f"/v1/sessions/{session}/messages", {"user_id": user, "messages": [said]})
    call.save(f"The boat is {SECRET}.", user=user)
    path = f"/v1/users/{user}"
    call("PUT", f"{path}/preferences/pin", {"value": SECRET})
    entities = [
        {"id": name, "type": "Company", "name": f"{name} {SECRET}"} for name in ("acme", "bolt")
    ]
    assert call("POST", f"{path}/graph/entities", {"entities": entities}).status == 201
    works = {
        "id": "works",
        "type": "WORKS_AT",
        "from": user,
        "to": "bolt",
        "properties": {"pin": SECRET},
    }
    assert call("POST", f"{path}/graph/relationships", {"relationships": [works]}).status == 201
    assert (
        call("POST", f"{path}/vectors", {"vectors": [{"id": "v", "values": [1, 2]}]}).status == 200
    )
    service.drain()


def files(service: Service, tenant: str = "acme") -> list[str]:
    """The files of exports that there are."""
    return [key for key in service.blobs.keys(f"exports/{tenant}/") if key.endswith(".jsonl")]


@pytest.mark.parametrize("removal", REMOVALS)
def test_what_is_removed_takes_every_export_that_may_hold_it_along(
    service: Service, call: Client, removal: str
) -> None:
    lived(service, call)
    jobs = [call("POST", path).json["job_id"] for path in ("/v1/users/sarah/export", "/v1/export")]
    service.drain()
    assert all(call("GET", f"/v1/jobs/{job}").json["files"] for job in jobs)
    answer = REMOVALS[removal](call)
    assert answer.status in (200, 202), answer.text
    service.drain()
    assert files(service) == []
    assert [call("GET", f"/v1/jobs/{job}").json["files"] for job in jobs] == [[], []]
    again = call("POST", "/v1/users/sarah/import", {"data": {"export_job_id": jobs[0]}})
    assert again.json["code"] == "export_not_found"


def test_the_receipts_count_the_exports(service: Service, call: Client) -> None:
    lived(service, call)
    for removal in ("redaction", "erasure"):
        for path in ("/v1/users/sarah/export", "/v1/users/sarah/export", "/v1/export"):
            exported(service, call, path)
        job = REMOVALS[removal](call).json["job_id"]
        service.drain()
        assert call("GET", f"/v1/jobs/{job}").json["receipt"]["exports"] == {
            "state": "done",
            "count": 3,
        }


def test_exports_of_others_stay_and_so_does_what_was_forgotten_in_vain(
    service: Service, call: Client
) -> None:
    lived(service, call)
    lived(service, call, "david", "d")
    other = service.client(tenant="other")
    lived(service, other)
    exported(service, call, "/v1/users/david/export")
    exported(service, other)
    for removal in ("redaction", "memory", "forget"):
        REMOVALS[removal](call)
        service.drain()
    assert [len(files(service, tenant)) for tenant in ("acme", "other")] == [1, 1]
    exported(service, call)
    REMOVALS["forget"](call)
    assert call("DELETE", "/v1/users/sarah/memories/mem_0").status == 404
    assert call("DELETE", "/v1/users/sarah/preferences/none").status == 404
    service.drain()
    assert len(files(service)) == 2


def test_a_session_whose_time_is_over_leaves_exports_as_they_are(
    service: Service, call: Client
) -> None:
    lived(service, call)
    call("PATCH", "/v1/sessions/s", {"retention_days": 1})
    exported(service, call)
    service.time.advance(2 * 24 * 3600)
    service.waiting.advance(2 * 24 * 3600)
    service.sweep_all()
    service.drain()
    assert call("GET", "/v1/sessions", query={"user_id": "sarah"}).json["sessions"] == []
    assert len(files(service)) == 1


@pytest.mark.parametrize("removal", ["memory", "preference", "entity", "vectors"])
def test_a_deletion_that_ended_before_it_came_to_the_exports_is_completed_by_the_same_call(
    service: Service, call: Client, removal: str
) -> None:
    lived(service, call)
    exported(service, call)
    path = f"/v1/users/sarah/memories/{memory_of(call)}"
    again: Removing = (
        (lambda call: call("DELETE", path)) if removal == "memory" else REMOVALS[removal]
    )

    def no_bucket(step: str) -> None:
        if step.endswith("put blob"):
            raise Unavailable("The bucket did not answer.")

    service.shared.faults = no_bucket
    assert again(call).status == 503
    service.shared.faults = lambda _: None
    assert len(files(service)) == 1
    assert again(call).status in (200, 404)
    assert files(service) == []


class Meeting:
    """An export and a removal of a user who has said one thing, and of whom another is known."""

    def __init__(self, path: str, removal: str) -> None:
        self.service = Service()
        self.call = self.service.client()
        self.path, self.removing = path, REMOVALS[removal]
        self.call(
            "POST",
            MESSAGES,
            {"user_id": "sarah", "messages": [{"role": "user", "content": "My pin is 4711."}]},
        )
        self.call.save(f"The boat is {SECRET}.")
        self.service.drain()
        self.job = self.call("POST", path).json["job_id"]

    def exporting(self) -> None:
        self._work(lambda kind: kind == "export")

    def removed(self) -> None:
        assert self.removing(self.call).status in (200, 202)
        self._work(lambda kind: kind != "export")

    def _work(self, does: Callable[[str], bool]) -> None:
        """Do the jobs of some kinds that wait, and those that follow from them."""
        done: set[str] = set()
        while waiting := [
            job
            for job in self.service.all_jobs()
            if does(job.kind) and job.id not in done and not job.has_ended
        ]:
            done.add(waiting[0].id)
            self.service.handle(waiting[0])

    def at_moment(self, at: int, doing: Callable[[], None], meanwhile: Callable[[], None]) -> bool:
        """Do something, and something else at one of its moments, counted from 0: before or after a
        write (of an export: of a file), or before a page is read. Returns whether it has so many.
        """
        left = at

        def moment(step: str = "page") -> None:
            nonlocal left
            left -= doing != self.exporting or step == "page" or "blob" in step
            if left == -1:
                left -= 1
                meanwhile()

        kinds = self.service.removal.handlings["export"].step.kinds  # type: ignore[attr-defined]
        for kind in kinds:
            object.__setattr__(kind, "page", _after(moment, kind.page))
        self.service.shared.faults = moment
        doing()
        self.service.shared.faults = lambda _: None
        return left < 0


def _after(moment: Callable[[], None], page: Callable[..., Any]) -> Callable[..., Any]:
    def read(*arguments: Any) -> Any:
        moment()
        return page(*arguments)

    return read


@pytest.mark.parametrize(
    ("removal", "path", "gone"),
    [
        ("redaction", "/v1/users/sarah/export", ["My pin"]),
        ("session", "/v1/export", ["My pin"]),
        ("memory", "/v1/users/sarah/export", [SECRET]),
        ("forget", "/v1/export", [SECRET]),
        ("erasure", "/v1/export", ["My pin", "The pin"]),
    ],
)
@pytest.mark.parametrize("first", ["export", "removal"])
@pytest.mark.parametrize(
    "most", [1, export.MOST_BYTES]
)  # bytes: a page a file, or all of it one file
def test_at_whatever_moment_an_export_and_a_removal_meet_no_file_holds_what_is_removed(
    monkeypatch: pytest.MonkeyPatch,
    *,
    removal: str,
    path: str,
    gone: list[str],
    first: str,
    most: int,
) -> None:
    monkeypatch.setattr(export, "MOST_BYTES", most)
    at = 0
    while True:
        meeting = Meeting(path, removal)
        parts = (
            (meeting.exporting, meeting.removed)
            if first == "export"
            else (meeting.removed, meeting.exporting)
        )
        if not meeting.at_moment(at, *parts):
            break
        meeting.exporting()
        held = [(meeting.service.blobs.get(key) or b"").decode() for key in files(meeting.service)]
        assert not any(word in text for word in gone for text in held), at
        found = meeting.call("GET", f"/v1/jobs/{meeting.job}").json
        assert found["state"] == "done", (at, found)
        assert len(found["files"]) in (0, len(held))
        if found["files"]:
            answer = meeting.service.client(tenant="other")(
                "POST", "/v1/import", {"data": "".join(held)}
            )
            assert answer.status == 202, (at, answer.text)
        at += 1
    assert at > 3


def test_an_export_during_whose_every_run_something_is_removed_fails_and_can_be_begun_again(
    service: Service, call: Client
) -> None:
    lived(service, call)
    kind = service.removal.handlings["export"].step.kinds[0]  # type: ignore[attr-defined]
    page = kind.page

    def removing(*arguments: Any) -> Any:
        found = page(*arguments)
        call("DELETE", "/v1/users/sarah/vectors", query={"ids": "v"})
        return found

    object.__setattr__(kind, "page", removing)
    job = call("POST", "/v1/users/sarah/export").json["job_id"]
    service.drain()
    found = call("GET", f"/v1/jobs/{job}").json
    assert (found["state"], found["error"], found["files"], files(service)) == (
        "failed",
        "overtaken",
        [],
        [],
    )
    object.__setattr__(kind, "page", page)
    again = call("POST", f"/v1/jobs/{job}/retry").json["job_id"]
    service.drain()
    assert len(call("GET", f"/v1/jobs/{again}").json["files"]) == len(files(service)) == 1


def test_an_export_that_loses_its_first_files_writes_all_of_them_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(export, "MOST_BYTES", 1)
    meeting = Meeting("/v1/users/sarah/export", "memory")
    for step in range(4):
        jobs = meeting.service.all_jobs()
        meeting.service.handle(
            next(job for job in jobs if job.kind == "export" and job.step == step)
        )
    assert len(files(meeting.service)) == 4
    meeting.removed()
    meeting.exporting()
    found = meeting.call("GET", f"/v1/jobs/{meeting.job}").json
    assert len(found["files"]) == found["result"]["files"] == len(files(meeting.service)) > 1
    text = "".join(
        (meeting.service.blobs.get(key) or b"").decode() for key in files(meeting.service)
    )
    assert "My pin" in text
    assert SECRET not in text


def test_an_export_of_several_files_whose_session_goes_in_between_is_begun_anew(
    service: Service, call: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "MOST_BYTES", 1)
    for number in range(5):
        call.append("s", *(f"{number}.{each}" for each in range(50)))
    call("PATCH", "/v1/sessions/s", {"retention_days": 1})
    job = call("POST", "/v1/users/sarah/export").json["job_id"]
    for step in range(4):
        service.handle(
            next(each for each in service.all_jobs() if each.kind == "export" and each.step == step)
        )
    service.waiting.advance(2 * 24 * 3600)
    service.sweep_all()
    service.drain()
    found = call("GET", f"/v1/jobs/{job}").json
    assert (found["state"], found["result"]["messages"]) == ("done", 0)
