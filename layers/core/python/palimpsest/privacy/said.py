"""Finds passwords, keys and codes that a sentence names as such ("my PIN is 1234"), or that a
configuration assigns.
"""

from __future__ import annotations

# ruff: noqa: RUF001 - marks of many scripts
import re
from collections.abc import Iterator
from functools import cache

from palimpsest.privacy.beside import used_secrets
from palimpsest.privacy.phrases import phrases, word_set
from palimpsest.privacy.values import (
    AROUND,
    LEAST_CODE,
    LEAST_KEY,
    LEAST_PASSWORD,
    NOT_SAID,
    TOKEN,
    Mark,
    code,
    is_counted,
    looks,
    plain,
)
from palimpsest.text.sought import Sought, Stems
from palimpsest.text.triggers import lowered

# most characters and words between the name of a secret and the secret
MOST_BETWEEN, MOST_LINKS = 200, 6

_QUOTES = {'"': '"', "“": "”", "„": "“”", "«": "»", "‘": "’", "'": "'", "`": "`", "”": "”"}


_OPENING = re.compile(r"[\"“„«‘'`”]|\*\*|__(?=\w)")


_STEM = Stems(
    r"pass|pwd|\bpw\b|pin|code|token|key|secret|credential|login|log-in|kennwort|losungs|zugang|anmelde"
    r"|geheim|tan\b|puk|cv[vc]|csc|otp|2fa|mfa|seed|recovery|backup|mnemonic|phrase|schlüssel"
    r"|kombination|combina|prüfziffer|kartenprüf|mot|mdp|clé|cle|jeton|identifiant|cryptogramme"
    r"|contrase|clave|frase|código|codigo|credencial|palabra|réponse|answer|antwort|digicode"
    r"|auth|bearer|sig=|ssn|social security|combo|combination|creds|wi-?fi"
    r"|digit|dígito|cifras|ziffern|zahlen|chiffres"
)

_BETWEEN = r"(?:[ \t]+(?!(?:{breaks})\b)[^\s.!?:=;,]{{1,30}}){{0,8}}?"
_CAPITAL = re.compile(r"(?<!\\)[A-ZÀ-Þ]")
_SLASH = re.compile(r"[ \t]*(\S{2,64}?)[ \t]*(?:/|:|,|\||and|und|et|y)[ \t]*(\S{4,64})")

_CODE_FOLLOWS = r"(?= ?(?:is|ist|est|es|lautet|:|\d{4,8}\b|for|für|fürs|pour|de|del|para|to)\b|:)"
_CODE_ALONE = re.compile(r"(?:[A-Z]-)?\d{4,8}")


_ASSIGNED = Sought(
    r"(?P<name>(?:"
    r"(?P<word>passw(?:or)?d|passphrase|passwort|pwd|_PASS(?![a-z]))"
    r"|secret(?:[_.-]?(?:access)?[_.-]?key)?|token|credentials?|api[_.-]?secret|dsn"
    r"|(?:api|access|private|secret|auth|account|signing|encryption|client|master|shared[_-]?access|license)[_.-]?key"
    r"|connection[_-]?string|(?-i:_KEY|_AUTH|_SALT))"
    r"(?:_[A-Z0-9_]{1,30}|[_.-]?(?:value|id|prod|dev|test|live))?[\"']?)"
    r"[ \t]{0,4}(?:=>|:=|=|:(?=[ \t\"']))[ \t]{0,4}(?P<quote>[\"']?)"
    r"(?P<value>[^\s\"'`,;<>{}()\[\]]{4,4096})(?P=quote)",
    re.IGNORECASE,
)
_NAME_OF_CODE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[A-Za-z_]+")


_OF_A_THING = re.compile(
    r"[ ](?:of|for|to|de|du|des|del|für|fürs|zum|zur|à|para)(?:[ '’][^\W\d_]+){1,4}[ ]"
    r"(?!(?:19|20)\d\d\b)(?=[#*]?[A-Za-z]{0,3}\d)"
    r"|[ ]d['’][^\W\d_]+(?:[ '’][^\W\d_]+){0,4}[ ](?=[#*]?[A-Za-z]{0,3}\d)",
    re.IGNORECASE,
)
"""The purpose of a code, right before the code, such as "for the shed" in "for the shed 0734"."""
LEAST_OF_A_THING = 3


_IN_URL = Sought(
    r"[?&#;](?:sig|signature|token|access_token|id_token|refresh_token|api_?key|apikey|key|password|pwd|secret"
    r"|client_secret|auth|x-amz-signature|x-amz-security-token|code)=(?P<value>[^&\s\"'<>#]{6,4096})",
    re.IGNORECASE,
)
_HEADER = Sought(
    r"(?:\bauthorization[\"']?[ \t]*[:=][ \t]*[\"']?"
    r"(?:bearer|basic|token|digest|apikey)?[ \t]*(?P<value>[^\s\"',;]{8,4096})"
    r"|\b(?:bearer|basic)[ \t]+(?P<bearer>(?=[A-Za-z._~+/-]*\d)[A-Za-z0-9._~+/-]{16,4096}=*)"
    r"|\bx-[a-z-]{0,30}(?:key|token|secret|auth)[\"']?[ \t]*[:=][ \t]*[\"']?"
    r"(?P<x>[^\s\"',;]{8,4096}))",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"(?:your|my|the|some|an?|insert|enter|replace|change|example|sample|dummy|placeholder|redacted|removed|hidden"
    r"|masked|todo|tbd|none|null|true|false|undefined|string|str|int|required|optional|xxx+)(?![^\W_])"
    r"|change_?me|\.{3}|<|\$|%|\*|\[",
    re.IGNORECASE,
)


def said_secrets(text: str) -> Iterator[Mark]:
    """Yield the secrets in a text that the text itself names as secrets."""
    yield from used_secrets(text)
    if not _STEM.are_in(text):
        return
    yield from _assigned(text)
    for reason, noun, classes in _kinds():
        for match in noun.finditer(lowered(text)):
            place = _after_noun(text, match, classes)
            if place is not None:
                yield (*place, reason)
    for match in _reversed().finditer(text):
        value = match["value"].strip("\"'“”„«»`‘’,.:;(")
        if _CODE_ALONE.fullmatch(value) or looks(value, least=LEAST_PASSWORD, strict=True):
            start = match.start("value") + match["value"].index(value)
            yield start, start + len(value), "password"


Class = str


@cache
def _kinds() -> tuple[tuple[str, Sought, Class], ...]:
    no = rf"(?![ -]?(?:{phrases('no_password')})(?!\w))"
    return (
        ("password", _noun("passwords", no), "password"),
        ("key", _noun("keys", no), "key"),
        ("code", _noun("codes", no), "code"),
        (
            "code",
            _noun(
                "own_code",
                r"(?= ?(?:is|ist|est|es|lautet|:|\d{4,8}\b|for|für|fürs|pour|de|del|para|to)\b|:)",
            ),
            "own_code",
        ),
    )


def _noun(name: str, no: str) -> Sought:
    """Return a pattern for the phrases of this name, in texts in lower case. A pattern that ignores
    case would take several times as long.
    """
    pattern = rf"(?<!\w)(?:{phrases(name)})(?!\w){no}"
    return Sought(_CAPITAL.sub(lambda letter: letter[0].lower(), pattern))


@cache
def _link() -> re.Pattern[str]:
    """Return a pattern for the words between the name of a secret and the secret: "is", ":",
    "=".
    """
    been = r"(?:['’]s(?=[ \t]+been\b))?(?:[?:]?[ \t]*(?=[ \t](?:it['’]s|es ist|c['’]est)\b))?"
    between = been + _BETWEEN.format(breaks=phrases("breaks"))
    still = rf"(?:[ \t]+(?:{phrases('still')})(?!\w))*"
    words = rf"(?:(?:[ \t]*,)?[ \t]+(?:{phrases('is')})|['’]s)(?!\w){still}[ \t]*[:=]?[ \t]*"
    into = rf"[ \t]+(?P<into>{phrases('into')})(?!\w){still}[ \t]*:?[ \t]*"
    mark = (
        r"[ \t]*(?:[\"'”*]{0,3}[ \t]*(?::=|=>|:|=)[*]{0,2}|(?P<dash>[-–—→]>?[ \t]))[ \t]*\n?[ \t]*"
    )
    return re.compile(
        rf"(?P<between>(?:[ \t]*\([^)\n]{{1,40}}\))?{between})(?:{words}|{into}|{mark})",
        re.IGNORECASE,
    )


@cache
def _reversed() -> Sought:
    return Sought(
        rf"(?<!\S)(?P<value>\S{{4,64}})[ \t]+(?:{phrases('as_mine')})[ \t]+"
        rf"(?:{phrases('mine')})[ \t]+"
        rf"(?:\w{{1,20}}[ \t]+){{0,2}}?(?:{phrases('passwords')}|{phrases('codes')})(?!\w)"
        rf"(?![ -]?(?:{phrases('no_password')})(?!\w))",
        re.IGNORECASE,
    )


def _after_noun(text: str, noun: re.Match[str], kind: Class) -> tuple[int, int] | None:
    """Return beginning and end of the secret that follows its name, or None if none follows."""
    # A value may follow its name without such words, as in "my PIN 1234".
    if text[noun.end() : noun.end() + 1] in (" ", "\t"):
        span = _value(text, noun.end() + 1, kind, strict=True)
        if span is not None:
            return span
    if kind in ("code", "own_code") and (of := _OF_A_THING.match(text, noun.end())) is not None:
        return code(text, of.end(), least=LEAST_OF_A_THING)
    end, limit = noun.end(), min(len(text), noun.end() + MOST_BETWEEN)
    for _ in range(MOST_LINKS):
        link = _link().match(text, end, limit)
        if link is None:
            return None
        span = _value(text, link.end(), kind, strict=bool(link["into"] or link["dash"]))
        if span is not None:
            return span
        end = link.end()
    return None


def _value(text: str, start: int, kind: Class, *, strict: bool) -> tuple[int, int] | None:
    opening = _OPENING.match(text, start)
    if opening is not None:
        quoted = _quoted(text, opening)
        if quoted is not None:
            inner = text[slice(*quoted)]
            return quoted if _is_quoted_secret(inner, kind) else None
        start = opening.end()
    token = TOKEN.match(text, start)
    if token is None or NOT_SAID.match(token[0]):
        return None
    if kind in ("code", "own_code"):
        return code(text, start, least=LEAST_PASSWORD if kind == "own_code" else LEAST_CODE)
    if kind == "key":
        return _pair(text, start) or _key(token)
    return _password(text, token, strict=strict)


def _is_quoted_secret(inner: str, kind: Class) -> bool:
    if NOT_SAID.search(inner):
        return False
    if kind == "password":
        return len(inner) >= LEAST_CODE and inner.casefold() not in word_set("no_value")
    if kind == "key":
        return looks(inner, least=LEAST_KEY, strict=True) and " " not in inner
    return (
        re.fullmatch(r"[A-Za-z0-9*# -]{3,16}", inner) is not None
        and sum(letter.isdigit() for letter in inner) >= LEAST_CODE
    )


def _quoted(text: str, opening: re.Match[str]) -> tuple[int, int] | None:
    closers = _QUOTES.get(opening[0], opening[0])
    ends = [text.find(closer, opening.end(), opening.end() + 200) for closer in {closers, *closers}]
    closings = [end for end in ends if end > opening.end()]
    if not closings or "\n" in text[opening.end() : min(closings)]:
        return None
    return opening.end(), min(closings)


def _pair(text: str, start: int) -> tuple[int, int] | None:
    """Return beginning and end of the password in a pair of name and password, such as "admin /
    S3cret".
    """
    pair = _SLASH.match(text, start)
    if pair is None:
        return None
    value = pair[2].rstrip(AROUND)
    return (
        (pair.start(2), pair.start(2) + len(value)) if looks(value, least=4, strict=True) else None
    )


def _key(token: re.Match[str]) -> tuple[int, int] | None:
    value = token[0].rstrip(AROUND)
    if not looks(value, least=LEAST_KEY, strict=True):
        return None
    return token.start(), token.start() + len(value)


def _password(text: str, token: re.Match[str], *, strict: bool) -> tuple[int, int] | None:
    value = token[0].rstrip(AROUND)
    if not value:
        return None
    if strict:
        is_one = looks(value, least=5, strict=True) and not is_counted(text, token)
        return (token.start(), token.start() + len(value)) if is_one else None
    if looks(value, least=LEAST_CODE, strict=False):
        return None if is_counted(text, token) else (token.start(), token.start() + len(value))
    return plain(text, token.start())


def _assigned(text: str) -> Iterator[Mark]:
    for match in _ASSIGNED.finditer(text):
        value = match["value"].rstrip(".")
        if _is_assigned(text, match, value):
            yield match.start("value"), match.start("value") + len(value), "assignment"
    for match in _IN_URL.finditer(text):
        value = match["value"]
        if not _PLACEHOLDER.match(value) and any(character.isdigit() for character in value):
            yield *match.span("value"), "assignment"
    for match in _HEADER.finditer(text):
        group = next(name for name in ("value", "bearer", "x") if match[name])
        if not _PLACEHOLDER.match(match[group]) and not _NAME_OF_CODE.fullmatch(match[group]):
            yield *match.span(group), "token"


def _is_assigned(text: str, match: re.Match[str], value: str) -> bool:
    """Return whether the assigned value is a secret itself. A variable's name, a function call and
    an example are not.
    """
    if _PLACEHOLDER.match(value) or NOT_SAID.search(value):
        return False
    is_equal = "=" in text[match.end("name") : match.start("value")]
    if not match["word"]:
        return looks(value, least=LEAST_KEY, strict=True)
    if match["quote"]:
        return True
    is_code = text[match.end() : match.end() + 1] in ("(", "[", "{")
    is_name = _NAME_OF_CODE.fullmatch(value) is not None and not match["name"].isupper()
    return (is_equal and not is_code and not is_name) or looks(value, least=4, strict=False)
