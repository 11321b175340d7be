"""Secrets, words off the record and deletions over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest
from palimpsest.offline.extractor import PatternExtractor

from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client

PATH = "/v1/sessions/s/messages"
SECRET = "My password is Xylophone77."


@pytest.fixture
def service(tmp_path: Path) -> Service:
    made = Service(tmp_path)
    made.extractor = PatternExtractor()
    made.wire_workers()
    return made


@pytest.fixture
def call(service: Service) -> Client:
    return service.client()


def told(service: Service, call: Client, *texts: str) -> None:
    call.append("s", *texts)
    call("POST", "/v1/sessions/s/extract")
    service.drain()
    service.brought_up_to_date()


def test_secrets_follow_the_tenants_setting(call: Client) -> None:
    assert call("GET", "/v1/settings").json["secrets"] == "keep_in_message"
    assert call("PUT", "/v1/settings", {"secrets": "refuse"}).json["secrets"] == "refuse"
    refused = call.append("s", "Hello.", SECRET)
    assert refused.status == 422
    assert refused.json["code"] == "secret_refused"
    assert refused.json["errors"][0]["field"] == "messages.1.content"
    assert "Xylophone77" not in refused.text
    assert call("GET", PATH).status == 404
    call("PUT", "/v1/settings", {"secrets": "mask"})
    assert call.append("s", SECRET).status == 201
    assert call("GET", PATH).json["messages"][0]["content"] == "My password is [secret]."
    assert call("PUT", "/v1/settings", {"secrets": "shout"}).status == 422


def test_a_message_off_the_record_stays_in_its_own_session(service: Service, call: Client) -> None:
    said = {"role": "user", "content": "I met Quillon in Rome.", "off_record": True}
    call("POST", PATH, {"user_id": "sarah", "messages": [said]})
    told(service, call, "I live in Bonn.")
    page = call("GET", PATH).json["messages"]
    assert [message.get("off_record") for message in page] == [True, None, None][: len(page)]
    window = call("GET", "/v1/sessions/s/context").text
    assert "Quillon" in window
    found = call("POST", "/v1/users/sarah/recall", {"query": "Whom did I meet in Rome?"})
    assert "Quillon" not in found.text
    wrong = {"messages": [{**said, "off_record": "maybe"}]}
    assert call("POST", PATH, wrong).status == 422


@pytest.mark.parametrize("sources", ["hide", "redact"])
def test_the_receipt_of_a_deletion_says_what_was_hidden(
    service: Service, call: Client, sources: str
) -> None:
    told(service, call, "My dog is called Rex. I live in Kiel.")
    memories = call("GET", "/v1/users/sarah/memories").json["memories"]
    home = next(memory for memory in memories if "Kiel" in memory["content"])
    service.time.advance(60)
    path = f"/v1/users/sarah/memories/{home['id']}"
    receipt = call("DELETE", path, query={"sources": sources})
    assert receipt.status == 200
    first = call("GET", PATH).json["messages"][0]
    assert receipt.json["hidden"] == {"messages": 1, "message_ids": [first["id"]]}
    service.drain()
    service.brought_up_to_date()
    if sources == "hide":
        assert first["content"] == "My dog is called Rex. I live in Kiel."
        assert first["hidden"] is True
    else:
        assert first["content"] == "My dog is called Rex. [deleted]"
        assert call("GET", f"/v1/jobs/{receipt.json['redactions'][0]}").json["state"] != "failed"
    found = call("POST", "/v1/users/sarah/recall", {"query": "Where do I live? Kiel?"})
    assert "I live in Kiel" not in found.text
    assert call("DELETE", path, query={"sources": "burn"}).status == 422


def test_a_message_that_is_material_is_marked_in_the_history(call: Client) -> None:
    pasted = "Translate this: 'I live in Kiel and I work as a baker in the old town.'"
    call.append("s", pasted, "I live in Bonn.")
    call.append("s", "```\nI live in Kiel\n```", "I have a dog.")
    page = call("GET", PATH).json["messages"]
    assert [each.get("material") for each in page] == [True, None, True, None]
    assert call("GET", f"{PATH}/1").json["material"] is True
    assert "material" not in call("GET", f"{PATH}/2").json


SIGNED = "Hi Tom,\nI live in Kiel now and I work as a baker in the old town.\nBest regards,\n{}"
GREETS = "Hi {},\nI live in Kiel now and I work as a baker in the old town. See you on Monday."


def test_the_names_of_the_user_tell_whose_a_letter_is(call: Client) -> None:
    letters = [SIGNED.format("Mira"), SIGNED.format("Tom"), GREETS.format("Mira")]
    call.append("s", *letters, user_id="u-17")
    page = call("GET", PATH).json["messages"]
    assert [each.get("material") for each in page] == [True, True, None]
    assert call("PUT", "/v1/users/u-17", {"name": "Mira"}).status == 200
    page = call("GET", PATH).json["messages"]
    assert [each.get("material") for each in page] == [None, True, True]
    assert "material" not in call("GET", f"{PATH}/1").json


def test_the_receipt_of_a_job_that_forgets_says_how_many_messages_it_hid(
    service: Service, call: Client
) -> None:
    told(service, call, "I live in Kiel.")
    told(service, call, "My dog is called Rex.")
    service.time.advance(60)
    job = call("POST", "/v1/users/sarah/memories/forget", {"filter": {"types": ["fact"]}}).json
    service.drain()
    result = call("GET", f"/v1/jobs/{job['job_id']}").json["result"]
    assert result == {"forgotten": 2, "hidden_messages": 2}
    assert [message.get("hidden") for message in call("GET", PATH).json["messages"]] == [True, True]


@pytest.mark.parametrize("by", ["mcp", "mem0", "mem0 all"])
def test_each_way_to_delete_says_what_was_hidden(service: Service, call: Client, by: str) -> None:
    service.work_while_waiting()
    told(service, call, "I live in Hamburg.")
    (memory,) = call("GET", "/v1/users/sarah/memories").json["memories"]
    (message,) = call("GET", PATH).json["messages"]
    hidden = {"messages": 1, "message_ids": [message["id"]]}
    if by == "mcp":
        params = {"name": "forget", "arguments": {"memory_ids": [memory["id"]]}}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        done = call("POST", "/v1/users/sarah/mcp", asked).json["result"]["structuredContent"]
        assert done == {"deleted": [memory["id"]], "hidden": hidden}
        return
    if by == "mem0 all":
        done = call("DELETE", "/compat/mem0/memories", query={"user_id": "sarah"}).json
        assert done == {"message": "All relevant memories deleted", "hidden_messages": 1}
        return
    (listed,) = call("GET", "/compat/mem0/memories", query={"user_id": "sarah"}).json["results"]
    done = call("DELETE", f"/compat/mem0/memories/{listed['id']}").json
    assert done == {"message": "Memory deleted successfully!", "hidden": hidden}


def remembers(call: Client, by: str) -> None:
    """Save the secret as a memory, in one of the ways of the API."""
    own = "/v1/users/sarah/memories"
    if by == "POST":
        call.save({"type": "fact", "content": SECRET, "metadata": {"password": "Xylophone77"}})
    elif by == "PATCH":
        (memory,) = call.save("I use the office network.").json["memories"]
        change = {"content": SECRET, "metadata": {"note": SECRET}}
        assert call("PATCH", f"{own}/{memory['id']}", change).status == 200
    elif by == "mcp":
        params = {"name": "remember", "arguments": {"content": SECRET}}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        assert call("POST", "/v1/users/sarah/mcp", asked).json["result"]["isError"] is False
    else:
        messages = [{"role": "user", "content": SECRET}]
        body = {"user_id": "sarah", "messages": messages, "infer": False}
        (memory,) = call("POST", "/compat/mem0/memories", body).json["results"]
        if by == "mem0 PUT":
            call("PUT", f"/compat/mem0/memories/{memory['id']}", {"text": f"{SECRET} It is new."})


@pytest.mark.parametrize("by", ["POST", "PATCH", "mcp", "mem0", "mem0 PUT"])
def test_a_secret_enters_no_record_however_it_is_saved(
    service: Service, call: Client, by: str
) -> None:
    remembers(call, by)
    service.brought_up_to_date()
    shown = call("GET", "/v1/users/sarah/memories").text
    assert "My password is [secret]." in shown
    assert "Xylophone77" not in shown + repr(service.records())
    found = call("POST", "/v1/users/sarah/recall", {"query": "What is my password?"}).text
    assert "Xylophone77" not in found


def test_a_preference_stays_as_the_caller_set_it(call: Client) -> None:
    call("PUT", "/v1/users/sarah/preferences/wifi", {"value": SECRET})
    assert call("GET", "/v1/users/sarah/preferences/wifi").json["value"] == SECRET


@pytest.mark.parametrize(
    ("metadata", "shown"),
    [
        ({"note": SECRET, "n": 1}, {"note": "My password is [secret].", "n": 1}),
        ({"password": "Xylophone77"}, {"password": "[secret]"}),
        ({"form": {"password": "Xylophone77"}}, {"form": {"password": "[secret]"}}),
        ({"channel": "chat"}, {"channel": "chat"}),
    ],
)
def test_metadata_of_a_message_follow_the_tenants_setting(
    call: Client, metadata: dict[str, object], shown: dict[str, object]
) -> None:
    body = {
        "user_id": "sarah",
        "messages": [{"role": "user", "content": "Hello.", "metadata": metadata}],
    }
    call("PUT", "/v1/settings", {"secrets": "refuse"})
    if metadata != shown:
        refused = call("POST", PATH, body)
        assert refused.json["code"] == "secret_refused"
        assert refused.json["errors"][0]["field"] == "messages.0.metadata"
    call("PUT", "/v1/settings", {"secrets": "mask"})
    assert call("POST", PATH, body).status == 201
    (message,) = call("GET", PATH).json["messages"]
    assert message["metadata"] == shown
