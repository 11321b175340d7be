"""Messages that no item can hold: stored outside the table, read whole, removed with what they
belong to.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from palimpsest.conversations.contents import ABANDONED_SECONDS
from palimpsest.conversations.drafts import Draft
from palimpsest.conversations.message import MAX_MESSAGE_BYTES, Large, Message, size_of
from palimpsest.conversations.shortened import LEFT_BYTES, left, within
from palimpsest.errors import TooLarge, Unavailable
from palimpsest_local.stores.sessions import LocalSessions

from tests.unit.conversations.service import ConversationService

NOVEL = "It was the best of times, it was the worst of times. " * 75_000  # four megabytes
DATA = "AAAA" * 200_000
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBO" * 300_000}}


def user(content: Any, **more: Any) -> Draft:
    return Draft({"role": "user", "content": content}, **more)


def append(
    service: ConversationService, *drafts: Draft, session: str = "s", key: str | None = None
) -> Any:
    return service.app.append(
        service.session(session), drafts, user="sarah", key=key, allow_repeat=key is None
    )


def keys(service: ConversationService) -> list[str]:
    return list(service.blobs.keys("contents/"))


def history(service: ConversationService, session: str = "s") -> Sequence[Message]:
    return service.app.history.messages(service.session(session), limit=100)[0]


def stored(service: ConversationService) -> list[Message]:
    """The messages as their items hold them."""
    return list(service.sessions.messages(service.session(), first=1, last=100))


@pytest.fixture
def service() -> ConversationService:
    return ConversationService()


def test_a_message_of_four_megabytes_is_stored_once_and_read_back_whole(
    service: ConversationService,
) -> None:
    before, huge = (
        user("A novel follows."),
        user(NOVEL, extra={"x": [1]}, metadata={"book": "two cities"}),
    )
    done = append(service, before, huge, key="k")
    assert append(service, before, huge, key="k").replayed
    read = history(service)
    assert [message.chat["content"] for message in read] == ["A novel follows.", NOVEL]
    assert (read[1].extra, read[1].metadata, read[1].id) == (
        {"x": [1]},
        {"book": "two cities"},
        done.messages[1].id,
    )
    assert service.app.history.message(service.session(), 2).chat["content"] == NOVEL
    assert len(keys(service)) == 1
    assert size_of(stored(service)[1].chat) < MAX_MESSAGE_BYTES


def test_small_messages_touch_no_bucket(service: ConversationService) -> None:
    service.sessions.state.faults = lambda step: pytest.fail(step) if "blob" in step else None
    service.append("hello", "there")
    assert service.history() == [1, 2]
    assert not service.outbox


def test_many_messages_that_no_transaction_holds_together_are_one_append(
    service: ConversationService,
) -> None:
    drafts = [user(f"{number}:" + "x" * 96_000) for number in range(50)]
    append(service, *drafts)
    whole = [message for after in (None, *range(1, 50)) for message in _one(service, after)]
    assert [message.chat for message in whole] == [draft.chat for draft in drafts]
    assert sum(size_of(message.chat) for message in stored(service)) < 3_100_000


def _one(service: ConversationService, after: int | None) -> Sequence[Message]:
    return service.app.history.messages(service.session(), limit=1, after=after)[0]


def test_a_page_holds_no_more_large_contents_than_an_answer(service: ConversationService) -> None:
    for _ in range(3):
        append(service, user(NOVEL))
    page, after = service.app.history.messages(service.session(), limit=50)
    assert ([message.seq for message in page], after) == ([1], 1)
    assert service.history() == [1, 2, 3]


def test_a_system_message_must_fit_its_item(service: ConversationService) -> None:
    with pytest.raises(TooLarge) as refused:
        append(service, Draft({"role": "system", "content": NOVEL}))
    assert refused.value.code == "message_too_large"
    assert not keys(service)


def test_a_lost_transaction_leaves_no_orphan_after_the_sweep(service: ConversationService) -> None:
    """The upload succeeds, and the function stops before its commit."""
    service.append("first")
    with service.killed_at("before commit"):
        append(service, user(NOVEL))
    assert len(keys(service)) == 1
    service.drain()
    assert len(keys(service)) == 1, "the append may still be under way"
    _sweep_for(service, 2 * ABANDONED_SECONDS)
    assert not keys(service)
    assert service.history() == [1]
    assert all(job.has_ended and job.due_at is None for job in service.all_jobs())


def test_a_sweep_that_stops_in_between_goes_on(service: ConversationService) -> None:
    job = _abandoned(service)
    service.time.advance(ABANDONED_SECONDS + 1)
    with service.killed_at("before remove blobs"):
        service.handle(job)
    assert len(keys(service)) == 1
    _sweep_for(service, 300)
    assert not keys(service)


def test_what_was_stored_is_never_swept(service: ConversationService) -> None:
    append(service, user(NOVEL))
    _sweep_for(service, 3 * ABANDONED_SECONDS)
    for job in service.outbox:
        service.handle(job)
    assert history(service)[0].chat["content"] == NOVEL


def test_a_commit_that_comes_after_the_sweep_is_decided_anew(service: ConversationService) -> None:
    """The append was so slow that its upload was taken for abandoned: it may not name what is
    gone.
    """
    service.append("first")
    stopped: list[str] = []

    def wait_long(step: str) -> None:
        if step == "before commit" and not stopped:
            stopped.append(step)
            service.time.advance(ABANDONED_SECONDS + 1)
            (job,) = [job for job in service.outbox if job.kind == "upload"]
            service.handle(job)
            service.time.advance(-ABANDONED_SECONDS)

    service.sessions.state.faults = wait_long
    append(service, user(NOVEL))
    assert [message.chat["content"] for message in history(service)] == ["first", NOVEL]
    assert len(keys(service)) == 1


def test_two_writers_at_once_keep_their_contents(service: ConversationService) -> None:
    service.append("first")
    met: list[str] = []

    def other_writer(step: str) -> None:
        if step == "before commit" and not met:
            met.append(step)
            append(service, user("B" * 400_000), key="b")

    service.sessions.state.faults = other_writer
    append(service, user("A" * 400_000), key="a")
    assert [message.chat["content"][:1] for message in history(service)] == ["f", "B", "A"]
    _sweep_for(service, 3 * ABANDONED_SECONDS)
    assert [len(message.chat["content"]) for message in history(service)] == [5, 400_000, 400_000]
    assert len(keys(service)) == 2


def test_withdrawing_deleting_and_erasing_reach_large_contents(
    service: ConversationService,
) -> None:
    for session in ("s", "s.2", "t", "u"):
        append(service, user("one"), user(NOVEL), user(NOVEL[:500_000]), session=session)
    service.app.history.withdraw(service.session("s"), first=3)
    service.app.manage.delete(service.session("t"))
    service.drain()
    assert [len(_names(service, name)) for name in ("s", "s.2", "t", "u")] == [1, 2, 0, 2]
    service.memories_app.erase(service.session().owner.user("sarah"))
    service.drain()
    assert not keys(service)


def _names(service: ConversationService, session: str) -> list[str]:
    prefix = f"contents/acme/{session}/"
    return [key.removeprefix(prefix) for key in service.blobs.keys(prefix)]


def test_a_removal_that_stops_after_the_items_is_done_again_to_the_end(
    service: ConversationService,
) -> None:
    append(service, user(NOVEL))
    service.app.manage.delete(service.session())
    (job,) = [job for job in service.outbox if job.kind == "delete"]
    with service.killed_at("before remove blobs"):
        service.handle(job)
    assert len(keys(service)) == 1
    assert not stored(service)
    service.handle(job)
    assert not keys(service)


def test_a_context_shows_what_fits_of_a_large_text(service: ConversationService) -> None:
    append(service, user(NOVEL))
    (message,) = service.app.context(service.session(), max_tokens=20_000).messages
    assert message["content"].startswith("It was the best of times")
    assert "of message 1 left out" in message["content"]
    assert LEFT_BYTES < len(message["content"]) < 100_000  # more than its item has


def test_a_context_names_images_that_it_can_t_hold_and_carries_the_newest(
    service: ConversationService,
) -> None:
    for number in range(5):
        append(service, user([{"type": "text", "text": f"picture {number}"}, IMAGE]))
    messages = service.app.context(service.session(), max_tokens=100_000).messages
    kinds = [[part["type"] for part in message["content"]] for message in messages]
    assert kinds == [["text", "text"]] * 2 + [["text", "image_url"]] * 3
    assert messages[0]["content"][1]["text"] == "[image image/png, 900000 bytes: in message 1]"
    assert messages[4]["content"] == [{"type": "text", "text": "picture 4"}, IMAGE]
    assert [message.chat["content"][1] for message in history(service)] == [IMAGE] * 4
    assert service.head().total_messages == 5


def test_a_context_comes_without_the_bucket_and_says_so(service: ConversationService) -> None:
    append(service, user(NOVEL), user("And now?"))

    class Down:
        def get(self, key: str) -> bytes:
            raise Unavailable("The bucket did not answer; try again.")

    contents = service.app.context.contents
    assert contents is not None
    object.__setattr__(contents, "blobs", Down())
    context = service.app.context(service.session(), max_tokens=5_000_000)
    assert context.degraded == ("contents",)
    assert "the middle of message 1 is left out" in str(context.messages[0]["content"])


def test_contents_that_are_not_those_uploaded_are_not_passed_off_as_them(
    service: ConversationService,
) -> None:
    append(service, user(NOVEL))
    (key,) = keys(service)
    service.blobs.put(key, service.blobs.get(key)[:-1] + b"!")  # type: ignore[index]
    with pytest.raises(Unavailable) as failed:
        service.app.history.message(service.session(), 1)
    assert failed.value.code == "content_unreadable"


@pytest.mark.parametrize(
    "chat",
    [
        {"role": "user", "content": "👩‍👩‍👧" * 100_000},
        {"role": "user", "content": [{"type": "text", "text": "é" * 300_000}, IMAGE]},
        {
            "role": "user",
            "content": [
                {"type": "input_audio", "input_audio": {"data": "AAAA" * 200_000, "format": "wav"}}
            ],
        },
        {
            "role": "user",
            "content": [{"type": "file", "file": {"file_data": DATA, "filename": "cv.pdf"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "x" * 500_000},
        {
            "role": "assistant",
            "refusal": "no" * 300_000,
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": DATA}},
                {"id": "b", "type": "custom", "custom": {"name": "g", "input": "z" * 400_000}},
            ],
        },
    ],
)
def test_what_stays_in_the_item_is_small_and_still_a_message_of_its_kind(
    chat: dict[str, Any],
) -> None:
    message = Message(1, "id", 1, 9, "e", chat, "2026-01-01T00:00:00Z", metadata={"m": "x" * 9_000})
    kept = left(message, Large("key", "digest", 1))
    assert size_of(kept.chat, kept.extra, kept.metadata) < LEFT_BYTES + 1_000
    assert kept.chat.keys() == chat.keys()
    assert kept.large == Large("key", "digest", 1)
    assert kept.tokens == message.tokens


def test_files_and_audio_are_named_by_what_they_are() -> None:
    parts = [
        {
            "type": "file",
            "file": {"file_data": "data:application/pdf;base64,AAAA", "filename": "cv.pdf"},
        },
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    ]
    message = Message(
        7, "id", 1, 9, "e", {"role": "user", "content": parts}, "2026-01-01T00:00:00Z"
    )
    (shown,) = within([message], most=0)
    assert [part["text"] for part in shown.chat["content"]] == [
        "[file cv.pdf, 3 bytes: in message 7]",
        "[audio wav, 3 bytes: in message 7]",
        "[image: in message 7]",
    ]


def _abandoned(service: ConversationService) -> Any:
    """An upload whose function stopped before its commit."""
    service.append("first")
    with service.killed_at("before commit"):
        append(service, user(NOVEL))
    return service.outbox[-1]


def _sweep_for(service: ConversationService, seconds: int) -> None:
    """What the schedule does in so many seconds."""
    assert isinstance(service.sessions, LocalSessions)
    for _ in range(seconds // 60):
        service.time.advance(60)
        service.sweep()
        service.drain()
