"""Extraction without a model. Statements of users are stored in their own words, and phrases
determine their kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache, cached_property, partial

from palimpsest.conversations.message import Message, text_of
from palimpsest.conversations.spoken import said_at
from palimpsest.extraction.chunk import Chunk
from palimpsest.extraction.finding import Finding
from palimpsest.extraction.ports import NOTHING_STATED, Extraction
from palimpsest.extraction.testimony.speakers import is_report
from palimpsest.extraction.timing import is_age
from palimpsest.graph.things import USER_TYPE, Relation
from palimpsest.memory.burials import Stated as Statement
from palimpsest.memory.meaning.admitted import only_admits, without_announcement
from palimpsest.memory.meaning.corrections import (
    begins_as_correction,
    correction_of,
    is_signal,
    put_right,
    without_signals,
)
from palimpsest.memory.meaning.ends import End, ends_of, may_end
from palimpsest.memory.meaning.frames import changes_a_value, dates_a_thing
from palimpsest.memory.meaning.people import first_name, may_be_about_a_person, may_tell_of_a_person
from palimpsest.memory.meaning.reading import restated, without_grounds, without_present
from palimpsest.memory.meaning.relation import learned
from palimpsest.memory.meaning.rules import liftings_of
from palimpsest.memory.meaning.slots import RESIDENCE, Slot, slot_of
from palimpsest.memory.meaning.standing import is_of_the_moment, is_order, leans, refers
from palimpsest.memory.meaning.transitions import switched_to
from palimpsest.memory.record import Method, SaidType
from palimpsest.offline.answered import answered
from palimpsest.offline.asking import asks_what, is_only_polite, only_asks, without_asking
from palimpsest.offline.clauses import (
    as_oneself,
    asks_for_something,
    descriptions,
    ended,
    is_fragment,
    is_in_jest,
    objects,
    own_clauses,
    parts,
    says_nothing,
    to_the_point,
    with_greeting,
    without_dangler,
    without_greeting,
    without_introduction,
)
from palimpsest.offline.implied import speaks_of_oneself
from palimpsest.offline.people import people_named, person_named_first, subject_of, with_names
from palimpsest.offline.phrases import (
    STATEMENT_KINDS,
    StatementKind,
    kind_of,
    words_that_name_nothing,
)
from palimpsest.offline.self_contained import is_self_contained
from palimpsest.offline.subjects import with_subject
from palimpsest.text import salience
from palimpsest.text.dates import relative_dates
from palimpsest.text.sentences import (
    is_filler,
    is_question,
    leans_on_a_question,
    sentences_at_the_ends,
    tells_who_the_user_is,
    words,
)

METHOD: Method = "pattern"
CAPACITY = 20_000  # tokens of one step
MOST_READ = 16_000  # characters of one message, without its middle if it is longer
WORTH_REMEMBERING = 2.0  # for a sentence of no known kind, about oneself or with names and numbers
PLAIN, OF_ONESELF, OF_WHO_ONE_IS, EVENT = 0.5, 0.6, 0.8, 0.65  # importance
OF_A_SLOT = frozenset({"residence", "employer", "occupation", "department", "birthday"})
"""The kinds of statements whose topic comes from the meaning of the whole statement, if that
meaning is known.
"""
MAY_LEAN = frozenset({"preference", "favorite", "task"})
"""The kinds of statements that may be unclear without their conversation, as in "I prefer the
second one".
"""
AGE = "age"
OF_ANSWERS = frozenset(
    {
        "answer_length",
        "answer_tone",
        "answer_level",
        "answer_format",
        "answer_spelling",
        "answer_units",
        "address_form",
    }
)
"""The topics of how the assistant should answer. A request and a preference have the same one."""
LEAST_QUOTE = 2  # letters or digits of a sentence that is quoted from a longer message
FEWEST_WORDS, MOST_WORDS = 3, 25  # of a sentence that may change something
FEW_WORDS = 4  # of a sentence that only names what the next one is about
MOST_BEFORE_IT = 10  # of a sentence to whose thing "it" in the next one may refer
MOST_KEYWORDS, SHORTEST_KEYWORD = 8, 4
WORDS_OF_TOPIC = 4
RELATIONS = {"employer": ("WORKS_AT", "Company"), "residence": ("LIVES_IN", "Place")}
"""The relationship of the user that a statement states, and the type of the named thing, by the
topic of the statement.
"""
_IT = re.compile(r"\b(?:it|them|him|her|ihn|es|sie)\W*$", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_KEYWORD = re.compile(rf"\w{{{SHORTEST_KEYWORD},}}")
_NAMED = re.compile(r" ?(?:the )?((?:[A-ZÀ-Þ][\w&.'-]*)(?: [A-ZÀ-Þ0-9&][\w&.'-]*){0,3})")


Stated = partial[Finding]
"""A finding without the messages that state it."""


class PatternExtractor:
    """Implements `Extractor` without a model, in linear time. The same messages always give the
    same findings.

    A text that several messages repeat is analysed once.
    """

    def capacity(self, *, prompt: str | None) -> int:
        del prompt
        return CAPACITY

    def extract(self, chunk: Chunk, *, prompt: str | None, whole: bool = False) -> Extraction:
        del prompt, whole
        findings: list[Finding] = []
        skipped: dict[int, str] = {}
        stated = cache(_stated)
        people: set[str] = set()
        asking = {before.seq + 1: before for before in (*chunk.before, *chunk.messages)}
        for message in chunk.messages:
            is_user = message.role == "user"
            reader = _MessageReader(message, stated, people)
            findings_of_message = list(reader.findings()) if is_user else []
            if is_user and all(finding.depends for finding in findings_of_message):
                answers = list(reader.answers(asking.get(message.seq)))
                findings_of_message = answers or findings_of_message
            findings += findings_of_message
            if not findings_of_message:
                skipped[message.seq] = NOTHING_STATED if is_user else "not_the_user"
        return Extraction(tuple(findings), chunk.last, METHOD, skipped=skipped)


@dataclass
class _MessageReader:
    """Reads the statements of one message. `people` has the names of the user's people in the
    messages before, and those of this message are added. `before` has the sentences that were
    read, and `announced` the last one if it only announces a correction.
    """

    message: Message
    stated: Callable[[str, date], Sequence[Stated]]
    people: set[str]
    before: list[str] = field(default_factory=list)
    announced: str = ""

    @cached_property
    def day(self) -> date:
        return said_at(self.message).date()

    def findings(self) -> Iterator[Finding]:
        text = text_of(self.message.chat)
        for whole in with_greeting(list(sentences_at_the_ends(text, most=MOST_READ))):
            sentence = without_dangler(whole)
            stating = _stating(sentence)
            role = as_oneself(sentence)
            if role is not None:
                yield from self._made(self.stated(role, self.day), quote=stating)
            if role is None or stating == sentence:
                yield from self._of_sentence(stating)

    def answers(self, before: Message | None) -> Iterator[Finding]:
        """Yield what the message states as a short answer to the message before it, if that is a
        question of the assistant.
        """
        if before is None or before.role != "assistant":
            return
        text = text_of(self.message.chat)
        statement = answered(text_of(before.chat), text)
        if statement is not None:
            yield from self._made(self.stated(statement, self.day), quote=text.strip())

    def _of_sentence(self, stating: str) -> Iterator[Finding]:
        sentence = _without_announcement(stating)
        whole = (f"{self.announced} {sentence}" if self.announced else sentence).strip()
        corrects = _can_be_quoted(sentence, self.message) and _corrects(whole, sentence)
        self.announced = sentence if is_signal(sentence) else ""
        if corrects:
            yield replace(self._depending(whole), quote=sentence)
            yield from self._made(_contrasted(sentence, self.stated, self.day), quote=sentence)
        if self.announced or corrects or only_admits(sentence):
            self.before.append(sentence)
            return
        first = begins_as_correction(sentence)
        rest = sentence if sentence is stating else sentence[0].upper() + sentence[1:]
        if first is not None and not _states_known(sentence):
            yield replace(self._depending(first[0]), quote=first[0])
            rest = first[1]
        yield from self._statements(sentence, rest)

    def _statements(self, sentence: str, rest: str) -> Iterator[Finding]:
        """Yield what the rest of a sentence states, after a correction at its beginning."""
        text = with_names(
            _plainly(with_subject(without_introduction(put_right(rest)))), self.before
        )
        self.before.append(text or sentence)
        statements = self.stated(text, self.day) if text else ()
        if not statements:
            if changes_a_value(sentence) or (text is not None and _may_change(sentence)):
                yield self._depending(sentence)
            statements = _stated_within(sentence, self.day) or _of_a_person(sentence, self.people)
        self.people |= people_named(sentence)
        if _ends_what_it_does_not_state(sentence, self.before, statements):
            yield replace(self._depending(_with_what(sentence, self.before)), quote=sentence)
        elif not statements and liftings_of(sentence):
            yield self._depending(sentence)
        elif not statements and _may_be_of_a_person(sentence):
            name = (first_name(sentence) or "").casefold()
            yield replace(self._depending(sentence), subject=name)
        yield from self._made(statements, quote=None if text is sentence else sentence)

    def _made(self, statements: Iterable[Stated], *, quote: str | None) -> Iterator[Finding]:
        """Yield the statements with this message as their source, and with their quote."""
        for finding in statements:
            if quote is None:
                yield finding(seqs=(self.message.seq,))
            else:
                yield finding(seqs=(self.message.seq,), quote=quote)

    def _depending(self, sentence: str) -> Finding:
        """Return a finding that is stored only if it ends or corrects a known statement."""
        return Finding(
            "fact", sentence, (self.message.seq,), sentence, subject="user", depends=True
        )


def _stating(sentence: str) -> str:
    """Return the sentence without questions and requests. A request stays if it may change a known
    value ("about the dinner, make it twelve people"), or if it belongs to an instruction ("from now
    on give me long, detailed answers please").
    """
    rest = without_asking(sentence)
    if rest == sentence or (changes_a_value(sentence) and not changes_a_value(rest)):
        return sentence
    kind, _ = kind_of(rest)
    is_cut = kind is not None and kind.type == "instruction" and sentence.startswith(rest)
    return sentence if is_cut and is_only_polite(sentence[len(rest) :]) else rest


def _contrasted(
    sentence: str, stated: Callable[[str, date], Sequence[Stated]], day: date
) -> Sequence[Stated]:
    """Return the statement before a contrast, in case that it corrects nothing: "I play the cello"
    in "I play the cello, not the piano.".
    """
    correction = correction_of(sentence)
    is_own = bool(own_clauses(sentence)) and without_signals(sentence) == sentence
    if correction is None or not correction.old or not is_own:
        return ()
    return stated(ended(correction.new), day)


def _ends_what_it_does_not_state(
    sentence: str, before: Sequence[str], statements: Sequence[Stated]
) -> bool:
    """Return whether the sentence says that something ended, and none of its statements does."""
    ended = _ended(sentence, before)
    return (
        bool(ended)
        and _is_end(sentence, ended)
        and not any(ends_of(statement.keywords["content"]) for statement in statements)
    )


def _without_announcement(sentence: str) -> str:
    """Return the sentence without words that only announce a correction, if the rest is a
    statement by itself.
    """
    plain = without_announcement(sentence)
    return plain if plain is sentence or _stated(plain, date.min) else sentence


def _corrects(whole: str, sentence: str) -> bool:
    return correction_of(whole) is not None and not _states_known(sentence)


def _can_be_quoted(sentence: str, message: Message) -> bool:
    """Return whether a sentence is long enough to be found again in its message."""
    letters = sum(map(str.isalnum, sentence[:MOST_READ]))
    return letters >= LEAST_QUOTE or sentence.strip() == text_of(message.chat).strip()


def _may_change(sentence: str) -> bool:
    """Return whether a sentence that states nothing of a known kind may replace or end a known
    statement.
    """
    if not FEWEST_WORDS <= sentence.count(" ") + 1 <= MOST_WORDS or is_question(sentence):
        return False
    if not learned().may_change(sentence, clearly=True) or is_in_jest(sentence):
        return False
    return not asks_for_something(sentence) and not is_order(sentence) and not leans(sentence)


def _is_end(sentence: str, ended: Sequence[End]) -> bool:
    """Return whether the sentence is a statement because it says that something ended."""
    return any(end.kind != "plain" for end in ended) or not says_nothing(sentence)


def _plainly(sentence: str) -> str:
    """Return the sentence without words such as "no, that's wrong", if the rest states something of
    a known kind.
    """
    plain = without_signals(sentence)
    return plain if plain != sentence and not is_known(sentence) and is_known(plain) else sentence


def _states_known(sentence: str) -> bool:
    return any(map(is_known, (without_signals(sentence), *sentence.split(", "))))


def is_known(text: str) -> bool:
    """Return whether the text is a statement of a known kind or about a known topic."""
    return kind_of(text)[0] is not None or slot_of(text) is not None


def _ended(sentence: str, before: Sequence[str]) -> Sequence[End]:
    """Return the ends that the sentence states, alone or together with the few words before it."""
    if not may_end(sentence) and not may_end(before[-2] if len(before) > 1 else ""):
        return ()
    return ends_of(sentence) or ends_of(_with_what(sentence, before))


def _with_what(sentence: str, before: Sequence[str]) -> str:
    """Return the sentence with the few words before it, which may name what ends, as in "The gym?
    Cancelled it.".
    """
    earlier = before[-2] if len(before) > 1 else ""
    most = MOST_BEFORE_IT if _IT.search(sentence) else FEW_WORDS
    return f"{earlier} {sentence}" if 0 < len(earlier.split()) <= most else sentence


def _stated(sentence: str, day: date) -> Sequence[Stated]:
    """Return the statements that the sentence makes. It stays whole if one of its clauses says
    something that only the other clauses make worth remembering: "Our wedding is 22 August and the
    venue is the Alderley barn".
    """
    stated: list[Stated] = []
    for part, quote in parts(sentence, is_known=is_known):
        for text in _each(part):
            statement = _statement(text, day, quote=quote)
            if statement is None and text != sentence and _tells(text):
                whole = _statement(sentence, day, quote=sentence)
                if whole is not None:
                    return [whole]
            if statement is not None:
                stated.append(statement if text == sentence else _cut_out(statement, sentence))
    return stated


def _cut_out(statement: Stated, sentence: str) -> Stated:
    """Return a statement that is a part of a sentence, written as a sentence."""
    content = ended(statement.keywords["content"])
    return partial(
        statement, content=content[0].upper() + content[1:] if sentence[0].isupper() else content
    )


def _tells(text: str) -> bool:
    """Return whether a clause asks for nothing, and says something that another clause explains."""
    is_said = not (is_question(text) or is_in_jest(text) or says_nothing(text))
    is_said = is_said and not (asks_for_something(text) or is_order(text))
    return is_said and (leans(text) or not salience.is_own(text))


def _stated_within(sentence: str, day: date) -> Sequence[Stated]:
    """Return the statements of single clauses, for a sentence that as a whole states nothing."""
    clauses = () if is_in_jest(sentence) else own_clauses(sentence)
    return [
        partial(statement, content=ended(to_the_point(clause)))
        for clause in clauses
        if (statement := _statement(clause, day, quote=sentence))
    ]


def _of_a_person(sentence: str, people: Collection[str]) -> Sequence[Stated]:
    """Return the statement of a sentence about one of the user's people, whose name begins it."""
    name = person_named_first(sentence, people)
    if name is None or is_question(sentence) or leans(sentence) or is_in_jest(sentence):
        return ()
    finding = _finding(sentence, sentence)
    return [partial(finding, type="fact", importance=PLAIN, subject=name.casefold())]


def _may_be_of_a_person(sentence: str) -> bool:
    """Return whether a sentence may tell something of somebody whom an earlier session named."""
    if may_be_about_a_person(sentence):
        return True
    return may_tell_of_a_person(sentence) and not (
        is_in_jest(sentence) or is_order(sentence) or asks_for_something(sentence)
    )


def _each(text: str) -> Sequence[str]:
    """Return the statements that the text makes. A list of people, of what the user is, or of what
    the user likes or must not eat is divided. So is a text that states an age, because an age
    changes.
    """
    described = descriptions(text, is_known=is_known)
    if len(described) > 1:
        return described
    kind, match = kind_of(text)
    if kind is None or match is None or "what" not in match.groupdict():
        return [text]
    before = text[: match.start("what")]
    # "Mein Opa ist 79" names no name before the age, and is one statement.
    if kind.topic == AGE and match["what"] and " " in before.strip() and salience.is_own(before):
        return [text[: match.end("what")], text[match.start("what") :]]
    return (
        objects(text, start=match.start("what"))
        if kind.topic in ("preference", "allergy")
        else [text]
    )


def _statement(text: str, day: date, *, quote: str) -> Stated | None:
    """Return the statement that the text makes. Return None for questions, requests, small talk,
    jokes, and texts that are not worth remembering.
    """
    kind, matched = _kind_of(without_grounds(text))
    is_asked = asks_what(text) or (is_question(text) and not (kind and kind.type == "task"))
    is_part = (kind is None or kind.name in MAY_LEAN) and leans(text)
    is_part = is_part or (kind is None and is_of_the_moment(text))
    is_part |= kind is not None and kind.type == "instruction" and refers(text)
    if is_in_jest(text) or is_asked or is_part:
        return None
    slot = slot_of(text)
    if slot is not None and slot.topic in OF_ANSWERS:
        return _of_answers(text, kind, slot, quote=quote)
    return _of_kind(text, day, kind, matched, slot, quote=quote)


def _of_kind(
    text: str,
    day: date,
    kind: StatementKind | None,
    matched: re.Match[str] | None,
    slot: Slot | None,
    *,
    quote: str,
) -> Stated | None:
    """Return the statement that a text of this kind, with this meaning, makes."""
    if kind is None or matched is None or _is_of_a_relative(kind, slot, text):
        finding = _of_no_kind(text, day, quote=quote, has_topic=slot is not None)
        if finding is None or slot is None:
            return finding
        return partial(finding, type="fact", topic=slot.topic, importance=OF_WHO_ONE_IS)
    topic = _topic(kind, matched)
    is_of_slot = kind.type == "fact" and kind.name in OF_A_SLOT
    if slot is None and is_of_slot and ends_of(text):
        return partial(_finding(text, quote), type="fact", importance=OF_ONESELF)
    if slot is not None and (is_of_slot or (kind.topic == AGE and is_age(slot.topic))):
        topic = slot.topic
    if topic is None and kind.topic is not None:
        return None
    about = _about(kind, matched, topic)
    finding = partial(
        _finding(text, quote), **about, type=kind.type, importance=kind.importance, topic=topic
    )
    return partial(finding, relations=tuple(_relations(kind, matched)))


def _of_answers(text: str, kind: StatementKind | None, slot: Slot, *, quote: str) -> Stated:
    """Return the statement about how the assistant should answer."""
    is_rule = kind is None or kind.type == "instruction"
    type_: SaidType = "instruction" if is_rule else "fact"
    return partial(_finding(text, quote), type=type_, topic=slot.topic, importance=OF_WHO_ONE_IS)


def _kind_of(text: str) -> tuple[StatementKind | None, re.Match[str] | None]:
    """Return the kind of a text and the match of its phrase. Words such as "now" do not belong
    to the phrase, unless only they make the text a rule: "from now on use kilometres".
    """
    timeless = without_present(text)
    kind, matched = kind_of(text)
    if kind is not None and kind.name == RESIDENCE and slot_of(text) is None and switched_to(text):
        return None, None  # "I moved to Vodafone" names no place
    if timeless == text:
        return kind, matched
    other, other_match = kind_of(timeless)
    if other is None:
        other, other_match = kind_of(restated(text))
    is_rule = kind is not None and kind.name == "rule"  # only by "from now on", if it is no order
    if other is None or (
        kind is not None
        and _rank(kind) < _rank(other)
        and not (is_rule and other.type == "fact" and salience.is_own(timeless))
    ):
        return kind, matched
    return other, other_match


def _rank(kind: StatementKind) -> int:
    return STATEMENT_KINDS.index(kind)


def _about(kind: StatementKind, matched: re.Match[str], topic: str | None) -> dict[str, str]:
    """Return the subject of a statement about another person, by the name of its field."""
    who = matched.groupdict().get("who")
    if not who and kind.topic == AGE and topic != AGE:
        # An age that is not the user's own is that of the person named here.
        who = matched.groupdict().get("what")
    return {"subject": who.casefold()} if who else {}


def _is_of_a_relative(kind: StatementKind, slot: Slot | None, text: str) -> bool:
    """Return whether the text reports an event in a relative's life that gives a topic its value:
    "My dad moved to Truro.".
    """
    return slot is not None and kind.name == "life_event" and not ends_of(text)


def _of_no_kind(text: str, day: date, *, quote: str, has_topic: bool) -> Stated | None:
    """Return the statement that a text of no known kind makes. `has_topic` is true if its topic is
    known nevertheless.
    """
    is_own = speaks_of_oneself(text)
    if not _says_enough(text, is_own=is_own, has_topic=has_topic):
        return None
    if not (has_topic or _stands_alone(text, is_own=is_own)):
        return None
    type_ = "event" if is_own and relative_dates(text, at=day) else "fact"
    importance = OF_ONESELF if is_own else PLAIN
    if tells_who_the_user_is(text):
        importance = OF_WHO_ONE_IS
    elif type_ == "event":
        importance = EVENT
    return partial(_finding(text, quote), type=type_, importance=importance)


def _stands_alone(text: str, *, is_own: bool) -> bool:
    """Return whether a text of no known kind or topic means something without its conversation."""
    if not is_own and (is_order(text) or leans_on_a_question(text)):
        return False
    if only_asks(text) or is_fragment(text):
        return False
    return dates_a_thing(text) or is_self_contained(text)


def _says_enough(text: str, *, is_own: bool, has_topic: bool) -> bool:
    """Return whether a text is worth remembering, and neither small talk nor a request."""
    bag = words(text)
    if is_filler(without_greeting(text), bag) or asks_for_something(text) or says_nothing(text):
        return False
    if has_topic or dates_a_thing(text):
        return True
    if (is_own or is_report(text)) and not salience.is_noisy(text):  # needs no names or numbers
        return True
    worth = salience.worth(
        text,
        speaker=salience.USER,
        bag=bag,
        topic=frozenset(),
        who=tells_who_the_user_is(text),
        asks=False,
    )
    return worth >= WORTH_REMEMBERING


def _relations(kind: StatementKind, matched: re.Match[str]) -> Iterator[Relation]:
    """Yield the relation to the place where the user lives or works, if the text names it."""
    if kind.topic not in RELATIONS or not matched[0].split():
        return
    last = matched[0].split()[-1]
    match = _NAMED.match(matched.string, matched.end() - (0 if last.islower() else len(last)))
    if match:
        relation, of = RELATIONS[kind.topic]
        yield Relation("user", USER_TYPE, relation, match[1].rstrip(".'-&"), of, single=True)


def _topic(kind: StatementKind, match: re.Match[str]) -> str | None:
    """Return the key of the topic, or None if the text names nothing that has a topic."""
    if "what" not in match.groupdict():
        return kind.topic
    empty = words_that_name_nothing()
    words = [word for word in _WORD.findall(match["what"].casefold()) if word not in empty]
    return "_".join((str(kind.topic), *words[:WORDS_OF_TOPIC])) if words else None


def _finding(text: str, quote: str) -> Stated:
    content = to_the_point(text)
    return partial(
        Finding,
        content=content,
        quote=quote,
        subject=subject_of(content),
        keywords=tuple(_keywords(text)),
    )


def _keywords(text: str) -> Sequence[str]:
    return list(dict.fromkeys(map(str.casefold, _KEYWORD.findall(text))))[:MOST_KEYWORDS]


def states(sentence: str) -> Sequence[Statement]:
    """Return the statements in a sentence of a user that phrases recognize."""
    findings = (stated(seqs=()) for stated in _stated(sentence, date.min))
    return [
        Statement(statement.content, statement.topic, statement.subject) for statement in findings
    ]
