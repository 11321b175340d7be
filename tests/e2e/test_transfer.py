"""A user's data through the front door: exported behind links that expire, erased, and imported as it was."""

import httpx2
import pytest

from tests.e2e.stack import PATIENCE, Client

pytestmark = [pytest.mark.e2e]
USER = "/v1/users/sarah"


def exported(call: Client) -> str:
    job = call.job(call("POST", f"{USER}/export").json["job_id"])
    assert job["state"] == "done", job
    return "".join(httpx2.get(link, timeout=PATIENCE).raise_for_status().text for link in job["files"])


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
    near = call("POST", f"{USER}/vectors/search", {"namespace": "maps", "values": [0.9, 0.1], "top_k": 1}).json
    assert [one["id"] for one in near["matches"]] == ["east"]
