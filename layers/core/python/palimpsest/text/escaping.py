"""Makes stored text safe to stand in a prompt: in one line, without invisible characters, unable to close a tag."""

from __future__ import annotations

import re
import unicodedata
from html import escape

_ODD = re.compile(r"[^\x20-\x7e]")
_JOINERS = "\u200c\u200d"
_BRACKETS = str.maketrans("\uff1c\ufe64\uff1e\ufe65\uff06\ufe60", "<<>>&&")  # models read them as plain ones
_INVISIBLE = re.compile("[\u115f\u1160\u17b4\u17b5\u3164\uffa0\U000e0100-\U000e01ef]")  # letters and marks of no shape
_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})


def escaped(text: str) -> str:
    """The text with `<`, `>` and `&`, and their look-alikes, as entities of markup."""
    return escape(text.translate(_BRACKETS), quote=False)


def harmless(text: str) -> str:
    """The text in one line, without characters that a reader does not see but a model does: control and format
    characters, direction marks and tag characters. Joiners stay between characters that are not ASCII, where scripts
    and emoji need them.
    """
    if _ODD.search(text):
        text = _INVISIBLE.sub("", "".join(_seen(text)))
    return " ".join(text.split())


def _seen(text: str) -> list[str]:
    seen: list[str] = []
    for place, letter in enumerate(text):
        if letter.isascii():
            seen.append(letter if letter.isprintable() else " ")
        elif letter in _JOINERS:
            seen += letter if _joins(text, place) else ""
        elif unicodedata.category(letter) in ("Zl", "Zp", "Zs"):
            seen.append(" ")
        elif unicodedata.category(letter) not in _UNSEEN:
            seen.append(letter)
    return seen


def _joins(text: str, place: int) -> bool:
    around = text[place - 1 : place] + text[place + 1 : place + 2]
    return len(around) == 2 and not any(each.isascii() or each in _JOINERS for each in around)  # noqa: PLR2004 both
