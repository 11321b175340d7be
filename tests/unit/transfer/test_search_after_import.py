"""What is deleted and imported again is found again at once, although the index still remembers its
removal.
"""

from pathlib import Path

import pytest

from tests.service import SARAH
from tests.unit.api.conftest import Service
from tests.unit.api.gateway import Client
from tests.unit.transfer.files import exported, imported

SAID = "My sister Lena plays the cello in Bergen."
SAVED = "Is allergic to hazelnuts."


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


@pytest.fixture
def call(service: Service) -> Client:
    return service.client()


def found(service: Service) -> set[str]:
    """The keys of what the index finds by words."""
    return {
        hit.key for words in (SAID, SAVED) for hit in service.index.by_words(SARAH, words, k=10)
    }


@pytest.mark.parametrize(
    "removal", [("DELETE", "/v1/users/sarah"), ("DELETE", "/v1/sessions/monday")]
)
def test_what_was_removed_and_imported_at_once_is_found_again(
    service: Service, call: Client, removal: tuple[str, str]
) -> None:
    call.append("monday", SAID, "How nice!")
    call.save(SAVED)
    service.brought_up_to_date()
    before, text = found(service), exported(service, call)
    assert len(before) == 3
    for _ in range(2):
        changes = tuple(service.changes())
        assert call(*removal).status == 202
        service.drain()
        assert service.embed(changes) == ()
        assert found(service) < before
        service.time.advance(1)
        assert imported(service, call, text)["conflicts"] == 0
        service.brought_up_to_date()
        assert found(service) == before


def test_what_was_forgotten_is_not_found_after_an_import(service: Service, call: Client) -> None:
    call.append("monday", SAID, "How nice!")
    call.save(SAVED, SAID)
    service.brought_up_to_date()
    text = exported(service, call)
    service.time.advance(60)
    forget = {"filter": {"types": ["fact"]}}
    assert call("POST", "/v1/users/sarah/memories/forget", forget).status == 202
    service.drain()
    service.brought_up_to_date()
    left = found(service)
    assert imported(service, call, text)["deleted"] > 0
    service.brought_up_to_date()
    assert found(service) == left
    assert call("DELETE", "/v1/sessions/monday").status == 202
    service.drain()
    service.time.advance(1)
    imported(service, call, text)  # the session's messages come back, with their marks
    service.brought_up_to_date()
    page = call("GET", "/v1/sessions/monday/messages").json
    assert [message.get("hidden") for message in page["messages"]] == [True, None]
    assert not any(key.endswith("/1") for key in found(service))


def test_a_memory_is_found_although_its_removal_reaches_the_index_while_it_is_imported(
    service: Service, call: Client
) -> None:
    call.save(SAVED)
    service.brought_up_to_date()
    before, text = found(service), exported(service, call)
    changes = tuple(service.changes())
    service.time.advance(1)
    call("DELETE", "/v1/users/sarah")
    service.drain()

    def meanwhile(step: str) -> None:
        """The import has read the clock and is about to commit."""
        if step == "before commit memories":
            service.shared.faults = lambda _: None
            service.time.advance(0.1)
            assert service.embed(changes) == ()

    service.shared.faults = meanwhile
    imported(service, call, text)
    service.brought_up_to_date()
    assert found(service) == before
