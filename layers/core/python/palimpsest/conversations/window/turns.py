"""The turns of a conversation, which are never split. The last turn is called the current chain. It
is cut if it alone exceeds the budget.

The current chain is cut in this order. Tool outputs are cut, the largest first. Then call arguments
are replaced. Then the oldest groups of calls and results are left out. Then the assistant's texts
are cut, and last the newest user message. The model continues from the newest group, so that group
stays until the user message has been cut to a quarter of the room. All sizes are decided before any
text is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain as joined
from itertools import pairwise
from typing import Protocol, TypeVar

from palimpsest.conversations.message import Chat, answered_call, call_ids
from palimpsest.conversations.weight import weigh
from palimpsest.conversations.window.render import (
    Cut,
    MessageParts,
    Text,
    WindowEntry,
    drafted,
    finished,
    plain,
)
from palimpsest.text.cutting import Count, level, marker


class Spoken(Protocol):
    """Anything with a chat role."""

    @property
    def role(self) -> str: ...


Said = TypeVar("Said", bound=Spoken)


def groups(messages: Sequence[Said]) -> list[Sequence[Said]]:
    """Return the messages in groups. Each group is a message with the tool messages that follow it,
    so that an assistant's calls and their results stay together.
    """
    return _split(
        messages, [number for number, message in enumerate(messages) if message.role != "tool"]
    )


def turns(messages: Sequence[Said]) -> list[Sequence[Said]]:
    """Return the messages in turns. Each turn is a user message with everything up to the next user
    message. Messages before the first user message are a turn too.

    If there is no user message, each group is a turn; otherwise such a conversation would be one
    turn that nothing could shorten. The last turn is called the current chain.
    """
    starts = [number for number, message in enumerate(messages) if message.role == "user"]
    return _split(messages, starts) if starts else groups(messages)


def _split(messages: Sequence[Said], starts: Sequence[int]) -> list[Sequence[Said]]:
    """Return the messages in parts that begin at the indexes `starts`, and at the first message."""
    bounds = [0, *(start for start in starts if start > 0), len(messages)]
    return [messages[start:end] for start, end in pairwise(bounds) if start < end]


NO_RESULT = "[no result]"

T = TypeVar("T")


def no_result(call_id: str) -> Chat:
    """Return the tool message that replaces the missing result of a call."""
    return {"role": "tool", "tool_call_id": call_id, "content": NO_RESULT}


def with_every_result(
    messages: Sequence[T],
    *,
    chat: Callable[[T], Chat],
    missing: Callable[[str], T],
    answering: Callable[[T, str], T],
) -> list[T]:
    """Return the messages in a form that the chat API accepts. Results without their call are left
    out. A call without a result gets the result that `missing` makes for its id, except the newest
    call, whose result is still to come.

    `chat` returns the chat message of an element. `answering` changes a result to name its call by
    the call's own id, if the result uses another form of the id.
    """
    result: list[T] = []
    waiting: list[str] = []
    for message in messages:
        chat_message = chat(message)
        if chat_message["role"] != "tool":
            result += map(missing, waiting)
            waiting = list(dict.fromkeys(call_ids(chat_message)))
            result.append(message)
        elif (call := answered_call(chat_message["tool_call_id"], waiting)) is not None:
            waiting.remove(call)
            result.append(
                message if chat_message["tool_call_id"] == call else answering(message, call)
            )
    return result


USER_SHARE = 4  # beside the newest group, the user message keeps 1/USER_SHARE of the room
NAME_SHARE = 2  # a name is removed if the uncut parts take more than 1/NAME_SHARE of the room

Group = Sequence[MessageParts]


class Chain:
    """The current chain, oldest first: the newest user message, if there is one, and all messages
    after it. `fit` may be called only once.
    """

    def __init__(self, entries: Sequence[WindowEntry], count: Count) -> None:
        drafts = [drafted(entry, count) for entry in entries]
        has_user = drafts[0].role == "user"
        self._user = drafts[0] if has_user else None
        self._groups: list[Group] = groups(drafts[1:] if has_user else drafts)
        self._gone: list[MessageParts] = []
        self._count = count

    @property
    def least(self) -> int:
        """The room that the whole user message and the newest group, cut as far as possible, need
        together.
        """
        return (self._user.weight if self._user else 0) + sum(map(_least, self._groups[-1:]))

    def fit(self, room: int) -> tuple[list[WindowEntry], list[Cut]]:
        """Return the messages of the chain, shortened to `room` tokens, and what was cut. At least
        one message is returned.
        """
        # Groups are dropped before texts are cut, because the texts of a dropped group need no cut.
        # Groups count with their least weights.
        self._drop(room, is_victim=_has_calls, weight=_least_with_texts)
        self._lower(_outputs, room)
        self._replace_arguments(room)
        # Replaced arguments left room, so that outputs get some of their text back.
        self._lower(_outputs, room)
        if self._weight > room:
            self._drop(room, is_victim=_has_no_calls, weight=_least)
            self._lower(_said, room)
        if self._weight > room:
            self._give_way(room)
        return self._finished()

    @property
    def _held(self) -> Iterator[MessageParts]:
        return joined([self._user] if self._user else [], *self._groups)

    @property
    def _weight(self) -> int:
        return sum(draft.weight for draft in self._held)

    def _drop(
        self, room: int, *, is_victim: Callable[[Group], bool], weight: Callable[[Group], int]
    ) -> None:
        """Leave out the oldest groups that are victims, until the rest can be cut to fit into the
        room. The newest group always stays.
        """
        total = (self._user.weight if self._user else 0) + sum(map(weight, self._groups))
        held: list[Group] = []
        for group in self._groups[:-1]:
            if total > room and is_victim(group):
                total -= weight(group)
                self._gone += group
            else:
                held.append(group)
        # A model that does not see its last result calls again for ever (docs/adr/0009).
        self._groups = held + self._groups[-1:]

    def _lower(self, kind: Callable[[MessageParts], list[Text]], room: int) -> None:
        """Cut the largest texts of a kind to a common weight, which is as high as the room
        allows.
        """
        texts = [text for group in self._groups for draft in group for text in kind(draft)]
        others = self._weight - sum(text.allowed for text in texts)
        height = level([text.tokens for text in texts], room=room - others)
        for text in texts:
            text.lower(height)

    def _replace_arguments(self, room: int) -> None:
        excess = self._weight - room
        arguments = [
            text for group in self._groups for draft in group for text in _arguments(draft)
        ]
        for text in sorted(arguments, key=lambda text: text.tokens, reverse=True):
            if excess <= 0:
                return
            excess -= text.tokens - text.least
            text.allowed = text.least

    def _give_way(self, room: int) -> None:
        """Cut the user message. If that is not enough, leave out the newest group. Nothing else is
        left of the chain at this point.
        """
        newest = [draft for group in self._groups for draft in group]
        if self._user is None:
            self._groups = [[_stub(newest[0], room, self._count)]]
            self._gone += newest
            return
        self._user = _nameless(self._user, room, self._count)
        beside = sum(draft.weight for draft in newest)
        if beside + min(self._user.weight, room // USER_SHARE) > room:
            self._groups, beside = [], 0
            self._gone += newest
        _squeeze(self._user, room - beside)

    def _finished(self) -> tuple[list[WindowEntry], list[Cut]]:
        entries: list[WindowEntry] = []
        cuts = [
            Cut(draft.entry.seq, "message", draft.entry.tokens)
            for draft in self._gone
            if draft.entry.seq
        ]
        for draft in self._held:
            entry, cuts_of_entry = finished(draft, self._count)
            entries.append(entry)
            cuts += cuts_of_entry
        return entries, cuts


def _has_calls(group: Group) -> bool:
    return bool(call_ids(group[0].entry.chat))


def _has_no_calls(group: Group) -> bool:
    return not _has_calls(group)


def _least(group: Group) -> int:
    fixed = sum(draft.fixed for draft in group)
    return fixed + sum(text.least for draft in group for text in draft.texts)


def _least_with_texts(group: Group) -> int:
    """Return the least weight of the group if its assistant's texts stay whole."""
    return _least(group) + sum(text.tokens - text.least for draft in group for text in _said(draft))


def _outputs(draft: MessageParts) -> list[Text]:
    return draft.texts if draft.role == "tool" else []


def _said(draft: MessageParts) -> list[Text]:
    return (
        [text for text in draft.texts if text.part != "arguments"]
        if draft.role == "assistant"
        else []
    )


def _arguments(draft: MessageParts) -> list[Text]:
    return [text for text in draft.texts if text.part == "arguments"]


def _squeeze(draft: MessageParts, room: int) -> None:
    """Cut a message's only text to the room, however small the room is."""
    (text,) = draft.texts
    text.least = 0
    text.lower(room - draft.fixed)


def _nameless(user: MessageParts, room: int, count: Count) -> MessageParts:
    """Return the user's message. The name is removed if the parts that are never cut take more than
    half of the room.
    """
    if user.fixed * NAME_SHARE <= room:
        return user
    chat = {name: value for name, value in user.entry.chat.items() if name != "name"}
    return _again(user, chat, count)


def _stub(draft: MessageParts, room: int, count: Count) -> MessageParts:
    """Return the message as a short text alone, cut to the room. This is for a chain without a user
    message, if its calls are too large even without their texts.
    """
    entry = draft.entry
    text = plain(entry.chat["content"]) or marker(entry.tokens, entry.seq).strip()
    stub = _again(draft, {"role": draft.role, "content": text}, count)
    _squeeze(stub, room)
    return stub


def _again(draft: MessageParts, chat: dict[str, object], count: Count) -> MessageParts:
    return drafted(WindowEntry(chat, weigh(chat, count), draft.entry.seq), count)
