"""Finds lines that no person speaks: code, configuration, logs, diffs, tables, subtitles."""

from __future__ import annotations

# ruff: noqa: ISC004, RUF001 - long patterns; marks of many scripts
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from palimpsest.extraction.testimony.words import anywhere, is_own_label, phrases
from palimpsest.text.sought import Sought

Mark = tuple[int, int, str]
"""The beginning and end of a marked text, and the reason for the mark."""

LONGEST_READ = 400
"""How many characters of a line are read."""

LONGEST_HEADING = 120
_LEVEL = r"(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL|CRITICAL|NOTICE|SEVERE|VERBOSE)"
_CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,9})?)?"
_SHAPES = {
    "log": (
        rf"\[?\d{{4}}[-/]\d\d[-/]\d\d[T ]{_CLOCK}(?:Z|[ ]?[+-]\d\d:?\d\d)?\]?(?![\w:])",
        rf"(?:[\[\d(][^\n]{{0,60}}?)?(?<!\w){_LEVEL}(?:[\]:|]| +[\d\[(]|\s+-\s)",
        rf"{_LEVEL}\s+[\w./-]+[:.(\[]",
        r"[VDIWEF]/[\w.$-]{1,60}[ ]?\([ ]*\d+\):",
        r"[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d ",
        rf"\[?{_CLOCK}\]?[ ]+\[?{_LEVEL}\b",
        r"Traceback \(most recent|File \"[^\n\"]+\", line \d|at [\w.$<>/]+ ?\([^\n)]*\)$",
        r"(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Warning|Panic)\b(?: \w+)?[:(]",
        r"(?:Caused by|panic|fatal|goroutine \d+|thread '[^']*' panicked)\b[: ]",
        r"\d{1,3}(?:\.\d{1,3}){3} [-\w]+ [-\w]+ \[",
        r"(?:[a-z_.]{2,20}=(?:\"[^\"\n]*\"|\S+)[ ]){1,20}[a-z_.]{2,20}=",
        r"[\w.-]+\[\d+\]: |[\w.-]{2,40} +\| ",
        r"\[\d{1,6}\.\d{1,9}\] ",
        r"(?:npm|pip|yarn|error|warning)[ :](?:ERR!|WARN|\[|[A-Z]{1,3}\d{3,5})",
    ),
    "code": (
        r"[}\])]+[;,)]*$",
        r"[^\n]*[)\]\"'`}];$|[^\n=]*=[^\n]*;$|[^\n]*\{$",
        r"(?:@\w[\w.]*(?:\([^\n]*\))?|#!/\S+|<\?\w+|\{\{[^\n]*|#include\b[^\n]*|#define\b[^\n]*)$",
        r"(?:async |export |default |public |private |protected |static |final |pub )*"
        r"(?:def|class|function|fn|func|interface|struct|enum|impl|trait|namespace|package|import"
        r"|from|const|let|var|val|return|if|for|while|switch|try|catch|await|throw|raise)\b"
        r"[^\n]*(?:[{;(=\[]|=>|->)$",
        r"(?:async )?(?:def|class|function|fn|func) \w+[^\n]*[:{)]$",
        r"(?:if|elif|while|with|except|case)\b(?=[^\n]*[=()<>\[\]_.])[^\n]*:$",
        r"for \w+(?:, ?\w+)* in [^\n]*:$|(?:else|try|finally):$",
        r"(?:const|let|var|val|int|string|String|bool|float|auto|char\*?) \w+ ?(?::[^\n=]{1,40})?=",
        r"import (?:[\w.]+$|[{*])|from [\w.@/\"']+ import ",
        r"(?:\w[\w.]*\.)?(?:print|log|println|printf|puts|echo|write|assert\w*|expect|require|it"
        r"|describe|test)\(",
        r"(?:puts|echo|print|return|assert|throw|raise|printf) [f\"'`$({\[]",
        r"[\w.$>:-]+(?:\.|->|::)\w+\([^\n]*[;,:{)(]$|\w+\([^\n]*\);?$",
        r"\$?[A-Za-z_][\w.\[\]\"'-]*[ ]?(?:[+:?|-]?=|<-)[ ]?(?:[\"'\d\[{(fb$@]|new |True\b|true\b"
        r"|False\b|false\b|None\b|null\b|\w+[(.\[])",
        r"[a-z_$][\w.$-]*=\S|(?:export )?[A-Z][A-Z0-9_]{2,}=\S",
        r"(?://|/\*|\* @|\*/|<!--|--[ ]\w+$|;;)",
        r"</?[a-zA-Z][\w:-]*(?:[ ][^>\n]*)?/?>(?:.*</[^>\n]*>?(?![^\n]*\w)|$|[^\n]*>$)",
        r"[$%#>]{1,3}[ ](?:cd|ls|git|npm|pip|curl|docker|kubectl|sudo|python3?|cat|echo|make|go"
        r"|cargo|aws|export|\./)",
        r"(?:curl|docker|kubectl|git|npm|npx|pip3?|sudo|ssh|aws|cargo|export|echo|yarn) "
        r"(?:-|[\"'/$.]|\w+ +-)",
        r"(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|ALTER|DROP|GRANT|MERGE|VALUES|FROM|WHERE"
        r"|JOIN|LEFT JOIN|INNER JOIN|ORDER BY|GROUP BY|LIMIT|SET|BEGIN|COMMIT)"
        r"(?: (?:[\w.*\"`(]|=)|[;(]|$)",
        r"(?:insert into|select [\w*., ]{1,80} from|update \w+ set|delete from|create table) ",
        r"[.#@]?[\w-]+(?:[ ][.#]?[\w-]+)? \{",
        r"\{\"|\[\{|\"[^\"\n]{0,60}\"[ ]?(?:=>|:)",
        r"['\"`][^\n]*['\"`](?:[)\]},;]+)$",
        r"\w+: ?(?:['\"`{\[][^\n]*[,'\"`{\[\]}]|\d+,|\w+,)$",
    ),
    "config": (
        r"['\"][\w .-]{1,60}['\"][ \t]*:[ \t]",
        r"[{\[][ \t]*$",
        r"[a-z]{2,}[_.][a-z][\w.]+:(?:[ ]|$)",
        r"\[\[?[\w. \"/-]+\]?\]$",
        r"(?:---|\.\.\.|%YAML[^\n]*)$",
        r"[\w.-]+:[ ]?[|>][+-]?$",
    ),
    "table": (r"\|[^\n]*\|$", r"[+|][-=+:| ]{3,}[+|]$"),
    "subtitles": (r"(?:\d\d:)?\d\d:\d\d[,.]\d{3} --> ", r"WEBVTT"),
    "diff": (
        r"diff --git |index [0-9a-f]{6,}\.\.|(?:---|\+\+\+) [ab/\"\w.]+[/.]\S*"
        r"|@@ [^\n]{1,40} @@",
        r"(?:new|deleted) file mode |rename (?:from|to) |similarity index |commit [0-9a-f]{7,}$",
    ),
}
_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_PARAGRAPH = re.compile(r"^(?:[ \t\r]*+[^\s][^\n]*+(?:\n|\Z))++", re.MULTILINE)
WHOLE = frozenset({"diff", "subtitles"})
"""Kinds of machine lines. From a line of such a kind on, the rest of its paragraph is material."""

_COMMENT = re.compile(r"[ \t]*(?:#|--|//|\"{3}|'{3}|\*|;)")
_ASSIGNED = re.compile(r"[ \t]*[A-Za-z_][\w.-]{0,40}[ ]?=[ ]?\S")
LEAST_ASSIGNED = 2
_PROMPT = re.compile(r"[ \t]*(?:[$%#][ ]|PS [A-Z]:|\w+@[\w.-]+[:~])")
_TITLE = re.compile(r"[ ]{0,3}#{1,6}[ ]([^\n#]{2,80}?)[ #:]*")
_KEY = re.compile(r"[ \t]*(?:- )?[\"']?[\w.-]{1,40}[\"']?[ ]?:(?:[ ]\S[^\n]*)?$")
_OPEN_KEY = re.compile(r"[ \t]*[\"']?[\w.-]{1,40}[\"']?:[ \t]*$")
_CHANGED = re.compile(r"[+-](?![+\-\s])[^\n]*$")
_TAKEN_OUT = re.compile(r"-(?![-\s])\S")
_PUT_IN = re.compile(r"\+(?![+\s\d])\S")
_SEPARATORS = (",", ";", "\t")
_LEAST_SEPARATORS = 2


@cache
def _shape() -> re.Pattern[str]:
    named = (rf"(?P<{name}>{'|'.join(shapes)})" for name, shapes in _SHAPES.items())
    return re.compile(rf"[ \t]*(?:{'|'.join(named)})")


@cache
def _heading() -> re.Pattern[str]:
    """Return a pattern for a heading of a book's chapter, a song's verse or a play's scene."""
    number = r"(?: (?:\d{1,3}|[IVXLC]{1,6}|[\w-]{1,15}))?"
    return re.compile(
        rf"[ \t]*(?:[#*_\[(]{{1,4}}[ ]?)?(?:(?:{phrases('headings')}){number}"
        r"(?:[\])*_:.–—-][^\n]{0,60})?|(?:INT|EXT|INT/EXT)\.? [A-ZÀ-Þ][^\n]{0,80}"
        rf"|(?:{phrases('documents')})(?: [\w.]{{1,15}}){{0,3}}:?"
        r"|(?:FADE|CUT) (?:IN|OUT|TO)\b[^\n]{0,20})[ \t]*$",
        re.IGNORECASE,
    )


def shape_of(line: str) -> str | None:
    """Return the kind of machine text that a single line is; None for other lines."""
    match = _shape().match(line.rstrip()[:LONGEST_READ])
    return match.lastgroup if match else None


def paragraphs(text: str) -> Iterator[list[tuple[int, str]]]:
    """Yield the lines of each paragraph, with the places where they begin."""
    for paragraph in _PARAGRAPH.finditer(text):
        start, lines = paragraph.start(), []
        for line in _LINE.findall(paragraph[0]):
            lines.append((start, line))
            start += len(line)
        yield lines


def machine_lines(text: str) -> Iterator[Mark]:
    """Yield the runs of machine lines, including the lines between them that belong to them."""
    for lines in paragraphs(text):
        yield from _of_paragraph(lines)


def parts_of_works(text: str) -> Iterator[Mark]:
    """Yield the text from the heading of a chapter, a verse or a scene to the end."""
    for lines in paragraphs(text):
        for start, line in lines:
            if len(line) <= LONGEST_HEADING and _heads_a_work(line.rstrip()):
                yield start, len(text), "document"
                return


LEAST_PARTS_OF_A_PROFILE = 2


@cache
def _part_of_a_profile() -> Sought:
    return Sought(
        rf"^[ \t]*(?:{phrases('parts_of_a_profile')})[ \t]*:?[ \t]*$", re.IGNORECASE | re.MULTILINE
    )


def profiles(text: str) -> Iterator[Mark]:
    """Yield a pasted profile or curriculum vitae, from the first of its headings to the end. A
    message that begins with such a heading is the speaker's own.
    """
    headings = list(_part_of_a_profile().finditer(text))
    is_below = bool(headings) and bool(text[: headings[0].start()].strip())
    if is_below and len(headings) >= LEAST_PARTS_OF_A_PROFILE:
        yield headings[0].start(), len(text), "document"


def _heads_a_work(line: str) -> bool:
    if _heading().fullmatch(line):
        return True
    title = _TITLE.fullmatch(line)
    return title is not None and not (
        is_own_label(title[1])
        or anywhere("first_person").search(title[1])
        or anywhere("about_oneself").search(title[1])
    )


def _of_paragraph(lines: list[tuple[int, str]]) -> Iterator[Mark]:
    shapes = _shapes(lines)
    places = [place for place, shape in enumerate(shapes) if shape]
    if not places:
        return
    first, last = places[0], places[-1]
    if shapes[first] in WHOLE or _PROMPT.match(lines[first][1]):
        last = len(lines) - 1
        first = 0 if shapes[first] == "subtitles" else first
    while first > 0 and _COMMENT.match(lines[first - 1][1]):
        first -= 1
    while last + 1 < len(lines) and lines[last + 1][1][:1] in " \t" and lines[last][1].strip():
        last += 1
    reason = next(shape for shape in shapes[first : last + 1] if shape)
    end = lines[last]
    yield lines[first][0], end[0] + len(end[1]), reason


def _shapes(lines: list[tuple[int, str]]) -> list[str | None]:
    shapes = [shape_of(line) for _, line in lines]
    if len(lines) == 1:  # everything else is told by two lines
        return shapes
    texts = [line.rstrip()[:LONGEST_READ] for _, line in lines]
    if _is_nested(texts):
        shapes = [
            shape or ("config" if _KEY.match(text) else None)
            for shape, text in zip(shapes, texts, strict=True)
        ]
    if len(list(filter(_ASSIGNED.match, texts))) >= LEAST_ASSIGNED or "config" in shapes:
        shapes = [
            shape or ("config" if _ASSIGNED.match(text) else None)
            for shape, text in zip(shapes, texts, strict=True)
        ]
    if any(map(_TAKEN_OUT.match, texts)) and any(map(_PUT_IN.match, texts)):
        shapes = [
            "diff" if _CHANGED.match(text) else shape
            for shape, text in zip(shapes, texts, strict=True)
        ]
    return ["table" if row else shape for shape, row in zip(shapes, _rows(texts), strict=True)]


def _is_nested(lines: list[str]) -> bool:
    """Return whether a key has keys below it."""
    return any(
        _OPEN_KEY.match(line) and below[:1] in " \t-" and _KEY.match(below)
        for line, below in pairwise(lines)
    )


def _rows(lines: list[str]) -> list[bool]:
    """Return for each line whether it is a row of a table. A row has the same separator as often as
    the line before or after it.
    """
    counts = [_separated(line) for line in lines]
    return [
        count is not None
        and count in (*counts[max(0, place - 1) : place], *counts[place + 1 :][:1])
        for place, count in enumerate(counts)
    ]


def _separated(line: str) -> tuple[str, int] | None:
    for separator in _SEPARATORS:
        count = line.count(separator)
        if count >= _LEAST_SEPARATORS and f"{separator} " not in line:
            return separator, count
    return None
