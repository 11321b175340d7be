"""Reads the wishes of speakers to keep words off the record."""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many scripts
import re
from dataclasses import dataclass, fields
from functools import cache, lru_cache

from palimpsest.privacy.asks import Asking, asked_in, asks_in
from palimpsest.privacy.clauses import names_words, wish_clauses, without
from palimpsest.privacy.phrases import SENTENCE_END, anywhere, phrases
from palimpsest.text.analyser import function_words, words
from palimpsest.text.sought import Sought, Stems

MOST_READ = 2_000
"""How many characters at each end of a message are read. People state a wish at the beginning or at
the end, not inside a pasted text.
"""

FEW_WORDS = 4
"""So few words beside a wish state nothing: "yes ok, good"."""

_QUOTED = Sought(
    r"```.*?(?:```|\Z)|^[ \t]{0,3}>[^\n]*$|\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|„[^“”\n]{1,400}[“”]"
    r"|«[^»\n]{1,400}»|`[^`\n]{1,400}`",
    re.DOTALL | re.MULTILINE,
)
_WORD = re.compile(r"[^\W_]")
_CLAUSE_END = re.compile(r"[,;:–—(]\s+|\s-\s")
_STEM = Stems(
    r"record|remember|forg[eo]t|between|memor|sav|stor|not[ei]|keep|log|writ|jot|retain|down"
    r"|heard|pretend|strike|eras|delet|wip|scrub|remov|disregard|leave|uns\b|merk|speicher|vergiss"
    r"|vergess|behalt|protokoll|schreib|streich|lösch|tu so|entre|reti|rete|enregistr|mémo|gard"
    r"|oubli|micro|off\b|efface|supprim|officieu|consign|conserv|fais comme|recuerd|recordar|guard"
    r"|guárd|anot|registr|almacen|apunt|olv[ií]d|borr|elimin|extraofi|haz como|actas|cámara|should"
    r"|souv|rappel|secret|confid|confian|vertrau|ears|never|exclud|omit|trace"
    r"|constancia|rastro|ignor|drop|discard|undo|unsee|unhear|wände|gehört|gesagt|entend|rien"
    r"|walls|take down|hold on|hang on|this room|this chat|commit|transfer|strike|uns|retract"
    r"|withdr|dicho|n['’]?t say|n['’]?t tell|n['’]?t hear|n['’]?t read|oído|leído"
    r"|escuch|metas|pongas|mets|mettez|as if|nada|forgot"
    r"|drop|purge|kick|throw|seal|word|mum['’]?s|tell|repeat|quiet|hush|nobody|no[- ]one|salg|sale"
    r"|salir|digas|diga|cuent|palabra|nadie|sceau|dis|motus|personne|geheim|wort|sag|erzähl|verrat"
    r"|siegel|niemand|keiner|verlässt|zwischen|pas un mot|private|hidden|rmbr|rmember|scratch"
    r"|convo|this stays|that stays|das bleib|bleibt hier|ça reste|nirgend|gedächtnis|auftauch"
    r"|mémoire|memoria|privado|privé|books|your files|your brain|what you know|sorte pas|salga"
    r"|out of my|anywhere|for you|akte|profil|pour toi|pour vous|nulle part|ningun|ningún|para ti"
    r"|track|learn from|take back|acuerd|acordar|behält|erinner|für dich|if you forgot|not for your"
)
"""Every wish contains one of these stems. Most texts contain none of them, so no other pattern is
tried on those texts.
"""


@cache
def _denied() -> re.Pattern[str]:
    """Return a pattern for an order not to keep the speaker's words. The clause begins with a
    denial and a verb of keeping, in either order. It names only "this", or announces something.
    """
    denial, keeping, kept = phrases("denials"), phrases("keeping"), phrases("kept")
    small = rf"(?:(?:{phrases('fillers')})(?!\w)[ ]*,?[ ]*)*+"
    both = rf"(?:(?:{phrases('fillers')}|(?P<kept>{kept}))(?!\w)[ ]*)*+"
    after = rf"(?:(?:{phrases('fillers')}|(?P<after>{kept}))(?!\w)[ ]*)*+"
    again = rf"(?:(?:{phrases('fillers')}|(?P<again>{kept}))(?!\w)[ ]*)*+"
    return re.compile(
        rf"(?:\A|(?<=[.!?,;:(\n])|(?<=[–-] ))[ \t]*{small}(?:"
        rf"(?:{denial})(?!\w)[ ]+(?:(?!(?:i|ich|je|yo)\b)[\w'’]+[ ]+){{0,3}}?{both}"
        rf"(?:{keeping})(?!\w)[ ]*{after}"
        rf"|(?:{keeping})(?!\w)[ ]+{again}(?:{denial})(?!\w)[ ]*{small})"
        r"(?P<end>:|[.,!;)–\n-]|\Z)",
        re.IGNORECASE,
    )


@cache
def _keeping() -> re.Pattern[str]:
    around = rf"(?:(?:{phrases('fillers')}|{phrases('kept')}|do)(?!\w)[ ]*)*+"
    return re.compile(rf"{around}(?:{phrases('keeping')})(?!\w)[ ]*{around}", re.IGNORECASE)


def asks_to_keep(label: str) -> bool:
    """Return whether a text says only that something shall be kept, as "Please do remember this"
    does.
    """
    return _keeping().fullmatch(label.strip()) is not None


def _denies_keeping(unquoted: str) -> bool:
    return any(
        match["end"] == ":" or match["kept"] or match["after"] or match["again"]
        for match in _denied().finditer(unquoted)
    )


@dataclass(frozen=True, slots=True)
class Wish:
    """A wish to keep words off the record. If `is_off_record` is true, the message must not be
    remembered. If `takes_back` is true, the speaker's message before it must not be remembered.
    If `covers_next` is true, the speaker's next message must not be remembered. If `looks_back` is
    true, the text is only a wish, and the wish is about words before it. If `begins` is true,
    nothing must be remembered until a message that `resumes`. If `resumes_late` is true, that
    message says something before it resumes.
    """

    is_off_record: bool = False
    takes_back: bool = False
    covers_next: bool = False
    looks_back: bool = False
    begins: bool = False
    resumes: bool = False
    resumes_late: bool = False


NO_WISH = Wish()


@lru_cache(maxsize=512)
def wish_of(text: str) -> Wish:
    """Return the wish that a text states. Quoted words state no wish."""
    if len(text) > 2 * MOST_READ:
        text = f"{text[:MOST_READ]}\n{text[-MOST_READ:]}"
    unquoted = _QUOTED.sub(" ", text)
    if _asks_to_remember(unquoted):
        return NO_WISH
    return _both(_wish_by_patterns(unquoted), _wish_by_weights(unquoted))


def _both(wish: Wish, other: Wish) -> Wish:
    return Wish(*(getattr(wish, part.name) or getattr(other, part.name) for part in fields(Wish)))


def _wish_by_weights(text: str) -> Wish:
    """Return the wish that learned weights find. A wish about the words after it lasts until it is
    resumed, if its own message says nothing after it.
    """
    sentences = [
        sentence
        for sentence in asked_in(text)
        if not _asks_to_remember(text[sentence.start : sentence.end])
    ]
    asks = {sentence.asks for sentence in sentences}
    if not asks:
        return NO_WISH
    start, end = sentences[0].start, sentences[-1].end
    is_first, is_last = _says_little(text[:start]), _says_little(text[end:])
    if asks == {"resume"}:
        return Wish(resumes=True, resumes_late=not is_first)
    back = next((sentence for sentence in sentences if _may_ask_back(sentence, text)), None)
    return Wish(
        is_off_record=True,
        takes_back=back is not None and _is_about_earlier(text[:start], text[start : back.end]),
        looks_back=asks == {"back"} and is_first and is_last,
        begins="next" in asks and is_last,
        resumes="resume" in asks and "next" not in asks,
    )


def _asks_to_remember(sentence: str) -> bool:
    """Return whether a sentence asks for the opposite: "Keep in mind what I just told you"."""
    is_kept = anywhere("to_be_kept").search(sentence) is not None
    return is_kept and anywhere("not_to_be_kept").search(sentence) is None


def _may_ask_back(sentence: Asking, text: str) -> bool:
    part = text[sentence.start : sentence.end]
    return sentence.may_ask_back or anywhere("just_said").search(part) is not None


def _names_earlier(text: str) -> bool:
    """Return whether a text names what was just said, and says nothing before that."""
    from palimpsest.text.sentences import sentences  # not at import: few messages state a wish

    named = anywhere("just_said").search(text)
    return named is not None and not any(map(_states, sentences(text[: named.start()])))


def _is_about_earlier(before: str, wish: str) -> bool:
    """Return whether a wish to forget is about an earlier message. It is about its own message if
    that says something before the wish, or announces something with a colon.
    """
    # Not at import: few messages state a wish.
    from palimpsest.text.salience import is_own
    from palimpsest.text.sentences import sentences

    if wish.rstrip().endswith(":") or any(map(_states, sentences(before))):
        return False
    first, *_ = _CLAUSE_END.split(wish)
    return asks_in(first) is not None or not (_states(first) and is_own(first))


def _states(text: str) -> bool:
    """Return whether a text says something, and more than that something was said."""
    from palimpsest.text.sentences import says  # not at import: few messages state a wish

    return says(text) == "something" and not names_words(text)


def _says_little(text: str) -> bool:
    return text.count(" ") < FEW_WORDS or not _WORD.search(anywhere("nothing_said").sub(" ", text))


def _wish_by_patterns(text: str) -> Wish:
    if not _STEM.are_in(text):
        return NO_WISH
    unquoted = anywhere("keep").sub(" ", text)
    clauses = tuple(wish_clauses(unquoted))
    takes_back = anywhere("forget").search(unquoted) is not None
    takes_back = takes_back or any(clause.asks == "take_back" for clause in clauses)
    is_off = takes_back or anywhere("off_record").search(unquoted) is not None
    is_off = is_off or bool(clauses) or _denies_keeping(unquoted)
    if not is_off:
        return NO_WISH
    # A message that is only a wish is about words of other messages.
    rest = anywhere("forget").sub(" ", without(unquoted, clauses))
    announces = anywhere("announces").search(rest) is not None
    rest = anywhere("off_record").sub(" ", anywhere("announces").sub(" ", rest))
    rest = _denied().sub(" ", rest)
    rest = anywhere("nothing_said").sub(" ", rest)
    is_bare = _WORD.search(rest) is None
    covers_next = announces and (is_bare or unquoted.rstrip().endswith((":", "?")))
    ends_open = is_bare and unquoted.rstrip().endswith(":")
    takes_back |= _names_earlier(unquoted)
    return Wish(
        looks_back=takes_back and is_bare and not announces and not ends_open,
        is_off_record=True,
        takes_back=takes_back or (is_bare and not covers_next and not ends_open),
        covers_next=covers_next or ends_open,
    )


BEGINNING = 4
"""How many letters of two words agree if they name the same thing, such as "debt" and "debts"."""

_FORWARD = re.compile(r"\b(?:this|dies\w*|ceci|esto|next|following)\b", re.IGNORECASE)
_EXPLAINS = re.compile(
    r"\W*(?:i mean|ich mein\w*|je veux dire|o sea|quiero decir)\b", re.IGNORECASE
)


@lru_cache(maxsize=512)
def kept_from(text: str, *, before: str | None) -> int | None:
    """Return where the speaker's statements begin that a wish before them does not cover, as in
    "Forget that please. I live in Leeds". The wish must be a sentence of its own and be about words
    before it. Return None if there are no such statements, or if they may be about the same things.
    `before` has what the session says before this text, as far as it is known; None if the speaker
    has said nothing.
    """
    if len(text) > 2 * MOST_READ or not wish_of(text).takes_back:
        return None
    from palimpsest.text.salience import is_own  # not at import: few messages take words back

    start, wish, kept, is_about_words_before = 0, 0, None, before is not None
    for end in SENTENCE_END.finditer(text):
        sentence = text[start : end.start()]
        is_back = wish_of(sentence).looks_back and _FORWARD.search(sentence) is None
        if is_back and is_about_words_before:
            wish, kept = start, end.end()
        is_about_words_before |= not wish_of(sentence).is_off_record
        start = end.end()
    if kept is None:
        return None
    rest = text[kept:]
    is_apart = wish_of(rest) == NO_WISH and is_own(rest) and not names_words(rest)
    is_apart = is_apart and _EXPLAINS.match(rest) is None
    return (
        kept if is_apart and _things(rest).isdisjoint(_things(f"{before} {text[:wish]}")) else None
    )


def _things(text: str) -> frozenset[str]:
    """Return the beginnings of the words of a text that name something."""
    named = (word for word in words(text) if len(word) >= BEGINNING)
    return frozenset(word[:BEGINNING] for word in named if word not in function_words())
