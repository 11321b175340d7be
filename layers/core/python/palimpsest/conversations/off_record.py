"""The rules by which messages of an append are off the record: marks on messages, and the users'
own words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from palimpsest.conversations.message import OFF_RECORD, UNSHOWN_ROLES, Message, text_of
from palimpsest.conversations.spoken import cut_out
from palimpsest.privacy.asked import asks_for_secret, gives_it, is_bare_secret, names_secret
from palimpsest.privacy.told import names_what_is_secret, sentences_of, told_secrets
from palimpsest.privacy.wishes import Wish, kept_from, wish_of
from palimpsest.text.folding import normalized

ON_RECORD, THIS_TURN, NEXT_TURN_TOO, ASKED, NAMED, UNTIL_RESUMED = 0, 1, 2, 3, 4, 5
"""How far words are off the record after a message: not at all, in this turn, in this turn and the
next, or until the user says that they are on the record again. With `ASKED` and `NAMED` nothing is
off the record yet, but the next message may give a secret: the assistant has just asked for one, or
the user has named one.
"""
HIDDEN = frozenset({THIS_TURN, NEXT_TURN_TOO, UNTIL_RESUMED})

MOST_TAKEN_BACK = 30
"""The most messages of an earlier turn that a later message can put off the record."""


@dataclass(frozen=True, slots=True)
class Marked:
    """The messages of an append. Messages that are off the record have a mark. `reach` says whether
    the newest turn or the next one is off the record. If a speaker takes back a turn before these
    messages, `takes_back` is that speaker's name, which is empty for the user.
    """

    messages: tuple[Message, ...]
    reach: int
    takes_back: str | None = None


def marked(messages: Sequence[Message], *, reach: int, base: int = 0) -> Marked:
    """Mark the messages of an append that nobody may remember. These are a user's messages off the
    record, messages that give nothing but a secret which was asked for or named just before, and
    all answers to these. In a message that says more, only the sentences with the secret are
    hidden. A message with statements after a wish to forget what was said has no mark, because
    these statements may be remembered. `reach` is one of the values above, as it was after the
    session's last append. The numbers of the session's messages begin after `base`.
    """
    done: list[Message] = []
    takes_back: str | None = None
    for message in messages:
        telling: Sequence[tuple[int, int]] = ()
        if message.role == "user":
            text = text_of(message.chat)
            wish = wish_of(text)
            if wish.takes_back:
                by = name_in(message)
                takes_back = takes_back if _take_back(done, by) else by
            is_first = message.seq == base + 1
            is_wished = (
                wish.is_off_record and kept_from(text, before=None if is_first else "") is None
            )
            telling = _telling(text, reach)
            is_whole = bool(telling) and not cut_out(text, telling).strip()
            is_off = message.is_off_record or is_wished or is_whole or _is_covered(wish, reach)
            is_private = is_off or bool(telling) or wish.is_off_record
            reach = _reach_of(wish, reach, is_off=is_private, is_first=is_first)
            if reach == ON_RECORD and (names_secret(text) or names_what_is_secret(text)):
                reach = NAMED
        else:
            is_hidden = reach in HIDDEN
            is_off = message.is_off_record or (is_hidden and message.role not in UNSHOWN_ROLES)
            if message.role == "assistant" and not is_hidden:
                reach = _reach_of_answer(text_of(message.chat), reach)
        shown = replace(message, hidden=(*message.hidden, *telling)) if telling else message
        done.append(off_record(shown) if is_off else shown)
    return Marked(tuple(done), reach, takes_back)


def _is_covered(wish: Wish, reach: int) -> bool:
    """Return whether a user's text is off the record because an earlier turn wished so."""
    is_over = wish.resumes and not wish.resumes_late
    return reach == NEXT_TURN_TOO or (reach == UNTIL_RESUMED and not is_over)


def _telling(text: str, reach: int) -> Sequence[tuple[int, int]]:
    """Return the sentences of a user's text that give a secret which was asked for or named just
    before.
    """
    if reach not in (ASKED, NAMED):
        return ()
    if reach == ASKED and is_bare_secret(text):
        return ((0, len(text)),)
    return tuple(
        (start, end)
        for start, end in sentences_of(text)
        if any(told_secrets(text[start:end], is_named=True))
        or (reach == NAMED and gives_it(text[start:end]))
    )


def _reach_of_answer(text: str, reach: int) -> int:
    """Return how far the words of a session are off the record after an answer that is not."""
    if asks_for_secret(text):
        return ASKED
    return NAMED if reach == NAMED or names_what_is_secret(text) else ON_RECORD


def _reach_of(wish: Wish, reach: int, *, is_off: bool, is_first: bool) -> int:
    """Return how far a user's message puts its turn off the record. The first message of a session
    has nothing to take back, so a wish to do so is about the next turn.
    """
    if wish.begins or (reach == UNTIL_RESUMED and not wish.resumes):
        return UNTIL_RESUMED
    if wish.covers_next or (wish.takes_back and is_first):
        return NEXT_TURN_TOO
    return THIS_TURN if is_off else ON_RECORD


def name_in(message: Message) -> str:
    """Return the folded name of a message's speaker. It is empty if the message has no name."""
    return normalized(str(message.chat.get("name") or ""))


def _take_back(messages: list[Message], by: str) -> bool:
    """Mark the last turn of a speaker, and return True. If the messages have none, mark those
    before the first turn, and return False, because the turn is in an earlier append.
    """
    turn = last_turn(messages, by)
    place = turn or _up_to_the_next(messages, 0, by)
    messages[place] = map(off_record, messages[place])
    return turn is not None


def last_turn(messages: Sequence[Message], by: str) -> slice | None:
    """Return the place of the last turn whose message by this speaker says something; None if there
    is none. The turn ends where somebody else speaks who is not the assistant.
    """
    from palimpsest.text.sentences import says  # not at import: few turns are taken back

    for start in reversed(range(len(messages))):
        message = messages[start]
        is_by_them = message.role == "user" and name_in(message) == by
        if is_by_them and says(text_of(message.chat)) != "nothing":
            return _up_to_the_next(messages, start, by)
    return None


def _up_to_the_next(messages: Sequence[Message], start: int, by: str) -> slice:
    """Return the place of the messages from `start` up to the next one by another user."""
    others = (
        place
        for place in range(start, len(messages))
        if messages[place].role == "user" and name_in(messages[place]) != by
    )
    return slice(start, next(others, len(messages)))


def off_record(message: Message) -> Message:
    return (
        message
        if message.is_off_record
        else replace(message, extra={**message.extra, OFF_RECORD: True})
    )
