"""What speakers want nobody to remember."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from palimpsest.privacy.phrases import anywhere
from palimpsest.text.sought import Sought, Stems

MOST_READ = 2_000
"""Characters at each end of a message that are read: a wish stands where the speaker speaks."""

_QUOTED = Sought(
    r"```.*?(?:```|\Z)|^[ \t]{0,3}>[^\n]*$|\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|„[^“”\n]{1,400}[“”]"
    r"|«[^»\n]{1,400}»|`[^`\n]{1,400}`",
    re.DOTALL | re.MULTILINE,
)
_WORD = re.compile(r"[^\W_]")
_STEM = Stems(
    r"record|remember|forg[eo]t|between|memor|sav|stor|not[ei]|keep|log|writ|jot|retain|down"
    r"|heard|pretend|strike|eras|delet|wip|scrub|remov|disregard|leave|uns\b|merk|speicher|vergiss"
    r"|vergess|behalt|protokoll|schreib|streich|lösch|tu so|entre|reti|rete|enregistr|mémoris|gard"
    r"|oubli|micro|off\b|efface|supprim|officieu|consign|conserv|fais comme|recuerd|recordar|guard"
    r"|guárd|anot|registr|almacen|apunt|olv[ií]d|borr|elimin|extraofi|haz como|actas|cámara|should"
    r"|souv|rappel|secret"
)
"""One of these is in every wish: most texts have none, and no more is read of them."""


@dataclass(frozen=True, slots=True)
class Wish:
    """`is_off_record`: nobody may remember the message. `takes_back`: nor what the speaker said
    right before. `covers_next`: nor what the speaker says next.
    """

    is_off_record: bool = False
    takes_back: bool = False
    covers_next: bool = False


NO_WISH = Wish()


@lru_cache(maxsize=512)
def wish_of(text: str) -> Wish:
    """What the speaker of a text wants nobody to remember. Quoted words are nobody's wish."""
    if not _STEM.are_in(text):
        return NO_WISH
    if len(text) > 2 * MOST_READ:
        text = f"{text[:MOST_READ]}\n{text[-MOST_READ:]}"
    said = anywhere("keep").sub(" ", _QUOTED.sub(" ", text))
    takes_back = anywhere("forget").search(said) is not None
    is_off = takes_back or anywhere("off_record").search(said) is not None
    if not is_off:
        return NO_WISH
    rest = anywhere("forget").sub(" ", said)
    announces = anywhere("announces").search(rest) is not None
    rest = anywhere("off_record").sub(" ", anywhere("announces").sub(" ", rest))
    rest = anywhere("nothing_said").sub(" ", rest)
    is_bare = _WORD.search(rest) is None
    covers_next = announces and (is_bare or said.rstrip().endswith((":", "?")))
    ends_open = is_bare and said.rstrip().endswith(":")
    return Wish(
        is_off_record=True,
        takes_back=takes_back or (is_bare and not covers_next and not ends_open),
        covers_next=covers_next or ends_open,
    )
