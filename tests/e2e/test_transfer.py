"""A user's data through the front door: exported behind links that expire, erased, and imported as
it was.
"""

import httpx2
import pytest

from tests.e2e.stack import PATIENCE, Client

pytestmark = [pytest.mark.e2e]
USER = "/v1/users/sarah"


def exported(call: Client) -> str:
    job = call.job(call("POST", f"{USER}/export").json["job_id"])
    assert job["state"] == "done", job
    return "".join(
        httpx2.get(link, timeout=PATIENCE).raise_for_status().text for link in job["files"]
    )


def test_what_was_exported_and_erased_comes_back_as_it_was(call: Client) -> None:
    call.append("monday", "I live in Hamburg.")
    assert call("PUT", f"{USER}/preferences/theme", {"value": "dark"}).status == 201
    entity = {"type": "Person", "name": "Erin"}
    assert call("POST", f"{USER}/graph/entities", {"entities": [entity]}).status == 201
    vectors = [{"id": "east", "values": [1.0, 0.0]}, {"id": "north", "values": [0.0, 1.0]}]
    assert call("POST", f"{USER}/vectors", {"namespace": "maps", "vectors": vectors}).status == 200
    text = exported(call)
    assert call.ended(call("DELETE", USER, query={"wait": 20}))["state"] == "done"
    assert call("GET", f"{USER}/preferences").json["preferences"] == []
    job = call.job(call("POST", f"{USER}/import", {"data": text}).json["job_id"])
    assert (job["state"], job["result"]["conflicts"]) == ("done", 0), job
    assert exported(call) == text
    near = call(
        "POST", f"{USER}/vectors/search", {"namespace": "maps", "values": [0.9, 0.1], "top_k": 1}
    ).json
    assert [match["id"] for match in near["matches"]] == ["east"]


def test_the_address_of_an_export_gives_nothing_once_what_it_holds_is_redacted(
    call: Client,
) -> None:
    call.append("tuesday", "My pin is 4711.")
    done = call.job(call("POST", f"{USER}/export").json["job_id"])
    (link,) = done["files"]
    assert "4711" in httpx2.get(link, timeout=PATIENCE).text
    redacted = call(
        "PATCH", "/v1/sessions/tuesday/messages/1", {"content": "My pin is [redacted]."}
    )
    receipt = call.job(redacted.json["job_id"])["receipt"]
    assert receipt["exports"] == {"state": "done", "count": 1}
    gone = httpx2.get(link, timeout=PATIENCE)
    assert (gone.status_code, "4711" in gone.text) == (404, False)
