"""Contents that an item can't hold: what stays there, and how the rest is uploaded, read back, removed and swept."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from palimpsest import parallel
from palimpsest.clock import Clock, seconds
from palimpsest.conversations import MAX_MESSAGE_BYTES, Chat, Large, Message, called, named_only, size_of
from palimpsest.conversations.drafts import MAX_BATCH_BYTES
from palimpsest.conversations.ports import Blobs
from palimpsest.errors import CommitLost, Unavailable
from palimpsest.jobs import Job, on_tenant
from palimpsest.jobs.kinds import UploadPayload
from palimpsest.jobs.ports import JobNotice, Jobs
from palimpsest.scope import Scope, SessionScope
from palimpsest.text.cutting import REPLACED, around, level

LEFT_BYTES = 48_000  # of a large message's texts, from the beginning and the end of each
SMALL_METADATA = 4_000  # bytes
KINDS_OF_PARTS = {"image_url": "image", "input_audio": "audio", "file": "file"}


def too_large(messages: Sequence[Message]) -> frozenset[int]:
    """The sequence numbers of the messages to store outside the table: those too large for an item, and the largest of
    the others until the rest fits one transaction.
    """
    sizes = {each.seq: size_of(each.chat, each.extra, each.metadata) for each in messages}
    total, large = sum(sizes.values()), set()
    for seq in sorted(sizes, key=lambda seq: -sizes[seq]):
        if sizes[seq] <= MAX_MESSAGE_BYTES and total <= MAX_BATCH_BYTES:
            break
        large.add(seq)
        total -= max(0, sizes[seq] - LEFT_BYTES - SMALL_METADATA)
    return frozenset(large)


def left(message: Message, large: Large) -> Message:
    """The message as its item holds it: beginning and end of its texts, and the names of its images and files."""
    metadata = message.metadata if size_of(message.metadata) <= SMALL_METADATA else {}
    return replace(message, chat=_shortened(message.chat, message.seq), extra={}, metadata=metadata, large=large)


def _shortened(chat: Chat, seq: int) -> Chat:
    """The message with its texts cut in the middle to `LEFT_BYTES` together, and its other parts named."""
    named = with_parts_named(chat, seq)
    height = level([len(text.encode()) for text in _texts(named)], room=LEFT_BYTES)

    def short(text: str) -> str:
        size = len(text.encode())
        mark = f"\n[… the middle of message {seq} is left out …]\n"
        return text if size <= height else around(text, size=len(text) * height // size, mark=mark)

    content = named.get("content")
    made: dict[str, Any] = dict(named)
    if isinstance(content, str):
        made["content"] = short(content)
    elif content is not None:
        made["content"] = [{**part, "text": short(part["text"])} if "text" in part else part for part in content]
    if "refusal" in named:
        made["refusal"] = short(named["refusal"])
    if "tool_calls" in named:
        made["tool_calls"] = [_call(call, seq, height) for call in named["tool_calls"]]
    return made


def _texts(chat: Chat) -> list[str]:
    content = chat.get("content")
    texts = [content] if isinstance(content, str) else [str(part.get("text", "")) for part in content or ()]
    return [*texts, str(chat.get("refusal", "")), *(called(call)[1] for call in chat.get("tool_calls", ()))]


def _call(call: Mapping[str, Any], seq: int, height: int) -> Mapping[str, Any]:
    """The call, with a note in place of arguments that are too long; those of a function stay JSON."""
    if len(called(call)[1].encode()) <= height:
        return call
    kind = call["type"]
    field = "arguments" if kind == "function" else "input"
    return {**call, kind: {**call[kind], field: f'{REPLACED}: "the arguments in message {seq}"}}'}}


def with_parts_named(chat: Chat, seq: int) -> Chat:
    """The message with a text in place of each image, audio and file, which says what it is and where it stands."""
    if not any(map(is_no_text, _parts(chat))):
        return chat
    return {**chat, "content": [named(part, seq) if is_no_text(part) else part for part in chat["content"]]}


def _parts(chat: Chat) -> Sequence[Mapping[str, Any]]:
    content = chat.get("content")
    return () if isinstance(content, str) else content or ()


def is_no_text(part: Mapping[str, Any]) -> bool:
    """Whether a part of a content is an image, audio or a file."""
    return part.get("type") in KINDS_OF_PARTS


def named(part: Mapping[str, Any], seq: int) -> dict[str, Any]:
    """A text in place of an image, audio or file."""
    kind, given = KINDS_OF_PARTS[part["type"]], part[part["type"]]
    data = str(given.get("url") or given.get("data") or given.get("file_data") or "")
    address, comma, encoded = data.partition(",")
    form = given.get("filename") or given.get("format") or (address[5:].partition(";")[0] if comma else "")
    size = f"{len(encoded if comma else data) * 3 // 4} bytes" if comma or "url" not in given else ""
    said = ", ".join(filter(None, (f"{kind} {form}".strip(), size)))
    return {"type": "text", "text": f"[{said}: in message {seq}]"}


def within(messages: Sequence[Message], *, most: int) -> tuple[Message, ...]:
    """The messages, oldest first, with images, audio and files of at most `most` bytes: those of the newest messages.
    Elsewhere they are named.
    """
    held: list[Message] = []
    for message in reversed(messages):
        size = size_of(*filter(is_no_text, _parts(message.chat)))
        held.append(message if size <= most else replace(message, chat=with_parts_named(message.chat, message.seq)))
        most -= size if size <= most else 0
    return tuple(reversed(held))


ABANDONED_SECONDS = 600
"""After this long no append that uploaded can still be under way."""
AGAIN_SECONDS = 60
HELD, PASSING = "contents", "passing"
"""What keys begin with: of contents that belong to a message, and of those that wait for their extraction alone."""


@dataclass(frozen=True, slots=True)
class Contents:
    """Large contents of conversations, over any store of blobs.

    Their keys begin with tenant, session and sequence number, so that a range is removed as its messages are. An upload
    begins with a job: the commit that names the contents ends it, and only one of both can be. What the job still waits
    for after ten minutes belongs to no message, and is removed.
    """

    blobs: Blobs
    jobs: Jobs
    clock: Clock

    def set_aside(self, scope: SessionScope, messages: Sequence[Message]) -> tuple[tuple[Message, ...], Job | None]:
        """Upload what the messages' items can't hold. Returns the messages as their items hold them, and the job to
        finish in the same commit (None: nothing was uploaded). Raises `Unavailable`.
        """
        return self._uploaded(scope, messages, too_large(messages), folder=HELD, rest=left)

    def hand_over(self, scope: SessionScope, messages: Sequence[Message]) -> tuple[tuple[Message, ...], Job | None]:
        """As `set_aside`, for messages that are only to be extracted: all that was sent is uploaded, and their items
        name them. What is uploaded stays until `forget_passed`.
        """
        return self._uploaded(scope, messages, {each.seq for each in messages}, folder=PASSING, rest=named_only)

    def _uploaded(
        self,
        scope: SessionScope,
        messages: Sequence[Message],
        large: Collection[int],
        *,
        folder: str,
        rest: Callable[[Message, Large], Message],
    ) -> tuple[tuple[Message, ...], Job | None]:
        if not large:
            return tuple(messages), None
        payload, now = UploadPayload(upload=secrets.token_hex(16)), seconds(self.clock.now())
        job = on_tenant(scope.owner, kind="upload", user=None, payload=payload, now=now)
        job = replace(job, session=scope.session, first=messages[0].seq, last=messages[-1].seq)
        self.jobs.put(job)

        def upload(message: Message) -> Message:
            if message.seq not in large:
                return message
            data = _data(message)
            self.blobs.put(key := _key(scope, message.seq, folder) + _suffix(job), data)
            return rest(message, Large(key, hashlib.sha256(data).hexdigest(), len(data)))

        return tuple(parallel.each(upload, messages)), replace(job, state="done", due_at=None)

    def whole(self, message: Message) -> Message:
        """The message as it was sent, with the contents that are stored outside the table. A message that its caller
        keeps (`is_outside`) is returned as its item holds it. Raises `Unavailable`, also if the stored contents are not
        those that were uploaded.
        """
        return message if message.is_outside else self.passed(message)

    def passed(self, message: Message) -> Message:
        """The message as it was sent, for an extraction: also one that its caller keeps."""
        if message.large is None:
            return message
        data = self.blobs.get(message.large.key)
        if data is None or hashlib.sha256(data).hexdigest() != message.large.digest:
            raise Unavailable("A large content can't be read; try again.", code="content_unreadable")
        return replace(message, **json.loads(data))

    def all_whole(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Each of the messages with all that was sent."""
        return tuple(parallel.each(self.whole, messages)) if any(each.large for each in messages) else tuple(messages)

    def remove(self, scope: SessionScope, *, first: int, last: int) -> None:
        """Remove the contents of messages `first` through `last`. Safe to repeat. Raises `Unavailable`."""
        for folder in (HELD, PASSING):
            self._remove(scope, first, last, folder)

    def forget_passed(self, scope: SessionScope, *, first: int, last: int) -> None:
        """Remove what was handed over of messages `first` through `last`, which are extracted. Safe to repeat."""
        self._remove(scope, first, last, PASSING)

    def settle(self, notice: JobNotice) -> None:
        """Remove what an upload left that no commit has named; does nothing while its append may be under way."""
        job = self.jobs.get(Scope(notice.tenant), notice.job_id)
        if job is not None:
            self.abandon(job)

    def abandon(self, job: Job) -> None:
        """As `settle`. From here on no commit can name the contents: it would have to end a job that has ended."""
        now = seconds(self.clock.now())
        if (job.state == "done" and job.due_at is None) or now < job.created_at + ABANDONED_SECONDS:
            return
        job.payload_as(UploadPayload)
        if not job.has_ended:
            try:
                self.jobs.finish(replace(job, state="done", error="abandoned", due_at=now + AGAIN_SECONDS))
            except CommitLost:
                return  # its messages are stored
        scope = Scope(job.tenant).session(job.session)
        for folder in (HELD, PASSING):
            self._remove(scope, job.first, job.last, folder, ending=_suffix(job))
        self.jobs.settle(job, due_at=None)

    def give_up(self, notice: JobNotice, *, error: str) -> None:
        """The sweep comes back to the job by itself."""

    def _remove(self, scope: SessionScope, first: int, last: int, folder: str, *, ending: str = "") -> None:
        begin, end = _key(scope, first, folder), _key(scope, last + 1, folder)
        prefix = begin.rpartition("/")[0] + "/"
        gone: list[str] = []
        for key in self.blobs.keys(prefix, first=begin.removeprefix(prefix)):
            if key >= end:
                break
            gone += [key] if key.endswith(ending) else []
        if gone:
            self.blobs.remove(gone)


def _key(scope: SessionScope, seq: int, folder: str) -> str:
    return f"{folder}/{scope.tenant}/{scope.session}/{max(seq, 0):012d}"


def _suffix(job: Job) -> str:
    return f"-{job.id}"


def _data(message: Message) -> bytes:
    said = {"chat": message.chat, "extra": message.extra, "metadata": message.metadata}
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"), default=dict).encode()


def loaded(contents: Contents | None, messages: Sequence[Message], *, most: int) -> tuple[tuple[Message, ...], bool]:
    """The messages, oldest first, the newest large ones whole: as many as have `most` bytes together. The others stay
    as their items hold them. The second result is false if one could not be read now.
    """
    wanted: set[int] = set()
    for message in reversed(messages):
        if message.large is not None and contents is not None and message.large.bytes <= most:
            most -= message.large.bytes
            wanted.add(message.seq)
    failed: list[int] = []

    def load(message: Message) -> Message:
        if contents is not None and message.seq in wanted:
            with suppress(Unavailable):
                return contents.whole(message)
            failed.append(message.seq)
        return message

    return tuple(map(load, messages)), not failed
