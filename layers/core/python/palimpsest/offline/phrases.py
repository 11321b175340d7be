"""The phrases that tell of which kind a user's statement is, in the commonest languages."""
# ruff: noqa: RUF001 - words of many scripts

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from palimpsest.memory.record import SaidType
from palimpsest.offline.clauses import GREETING
from palimpsest.offline.people import GIVEN_NAMES, NAME, SOMEBODY
from palimpsest.text.sieve import Sieve


@dataclass(frozen=True, slots=True)
class StatementKind:
    """A kind of statement, with the phrases that show it. `importance` is from 0 to 1.

    `topic` is the key of a topic that has one value at a time. Where a phrase has a group `what`,
    its words are added to the key: liking tea and liking cake are two topics.
    """

    type: SaidType
    importance: float
    topic: str | None
    phrases: tuple[str, ...]


def _kind(
    kind: SaidType, importance: float, topic: str | None, phrases: Sequence[str]
) -> StatementKind:
    return StatementKind(kind, importance, topic, tuple(phrases))


_NOW = "(?:now|currently|still|also|just|really|absolutely|mostly|usually|finally|recently)"
_I = rf"\bI(?:['’]?m| am|['’]?ve| have)? ?(?:{_NOW} )*"
_POLITE = r"please|bitte|por favor|s['’]il (?:te|vous) pla[iî]t"
_START = rf"^\W*(?:(?:ok(?:ay)?|and|but|also|so|well|actually|{_POLITE})\b[,!]? ?)*"
_WHAT = r"(?P<what>[^.,;:!?。！？，、]{1,60})"
_NAMES = rf"{NAME}(?: {NAME})?"
_NO_NAME = (
    "(?:American|Arab|Australian|Austrian|Belgian|Brazilian|British|Bulgarian|Canadian|Catholic|Chinese|Croatian|Czech"
    "|Danish|Dutch|Egyptian|English|European|Finnish|French|German|Greek|Hungarian|Indian|Indonesian|Iranian|Irish|Israeli"
    "|Italian|Jewish|Japanese|Korean|Mexican|Muslim|Nigerian|Norwegian|Pakistani|Persian|Polish|Portuguese|Romanian"
    "|Russian|Scottish|Serbian|Slovak|Spanish|Swedish|Swiss|Syrian|Thai|Turkish|Ukrainian|Vegan|Vegetarian|Vietnamese"
    "|Welsh)\\b"
)
_AGED = (
    r"(?: now| already| jetzt| schon)?(?: years? old| jahre(?: alt)?)?(?: "
    r"(?:now|yesterday|today|jetzt|gestern|heute))?"
    r"(?=[.!;]*$|[.,;!](?!\d)| and\b| und\b)"
)
_NOT_ASKED = r"(?<!\bdo )(?<!\bdid )(?<!\bwill )(?<!\bwould )"
_BUT_WORDS = r"(?! (?:say|admit|know|ask|see|understand))"
_TRADES = (
    "engineer|developer|programmer|teacher|nurse|doctor|manager|student|designer|lawyer|accountant|analyst|consultant"
    "|writer|artist|chef|cook|scientist|researcher|pilot|driver|electrician|plumber|architect|journalist"
)

_TIMED = "(?:flight|train|bus|appointment|interview|shift|class|course|lesson|flug|zug|termin|kurs)"
_TIME = r"\d{1,2}(?:[:.]\d\d)?(?: ?[ap]\.?m\b\.?| uhr)?"
_AT_NO_DAY = r"(?=[.!;]*$|,? (?:not|nicht|instead|now|and|und)\b)"
_LATELY = r"^\W*(?:(?:sadly|unfortunately|yesterday|today|last (?:night|week|month|year|spring|summer|fall|winter)),? )?"
_NO_PLACE = (
    "(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october"
    "|november|december)\\b"
)
_LIVED_THROUGH = (
    "(?:died|passed away|was born|graduated|retired|got (?:married|engaged|divorced)"
    rf"|moved (?:out|abroad|in with|away|(?:back )?to (?!{_NO_PLACE}){NAME}))"
)

_DEPARTMENT = (
    "(?:marketing|sales|finance|accounting|engineering|human "
    "resources|legal|logistics|procurement|purchasing|customer"
    "|support|operations|communications|(?-i:HR|IT|R&D))"
    r"(?: (?:support|service|department|team))?(?=\W*$|[,.;!]| (?:at|and|but|now|since|last|this"
    r"|for)\b)"
)

_LANGUAGE = (
    "(?:english|german|french|spanish|italian|portuguese|dutch|polish|russian|ukrainian|turkish|arabic|hebrew|hindi"
    "|chinese|mandarin|japanese|korean|swedish|danish|norwegian|finnish|greek|czech"
    "|englisch|deutsch|französisch|spanisch|italienisch|inglés|español|francés|alemán|italiano"
    r"|anglais|français|allemand|espagnol|italien)\b"
)
_ANSWERING = "(?:answer|reply|respond|speak|talk)(?:ing)?(?: to)?(?: me)?(?: only| always)?"
_FROM_NOW, _MAY = "(?:(?:from now on|going forward),? )?", "(?:can|may|should|must)"

STATEMENT_KINDS = (
    _kind(
        "fact",
        0.95,
        "name",
        (
            r"\bmy (?:full |first |last |real )?name(?:['’]s| is)\b",
            rf"{GREETING}(?:this is|I['’]?m|I am) (?!{_NO_NAME}){_NAMES}(?=[.!,]|$| and\b| from\b)",
            rf"\b(?:this is|I['’]m|I am) (?!{_NO_NAME}){_NAMES} from\b",
            r"\bich hei(?:ß|ss)e\b",
            r"\bmein name ist\b",
            rf"\bich bin (?:d(?:er|ie) )?{GIVEN_NAMES}(?: {NAME})?(?=[.!,]|$| und\b| aus\b| vo[nm]\b)",
            r"\bme llamo\b",
            r"\bmi nombre es\b",
            r"\bje m['’]appelle\b",
            r"\bmon nom est\b",
            r"我叫(?![你他她])",
            "我的名字(?:是|叫)",
            "我姓",
            r"私の名前は(?!何)",
            "と申します",
            "と(?:いい|言い)ます$",
        ),
    ),
    _kind(
        "fact",
        0.9,
        "preferred_name",
        (
            (
                rf"{_START}(?:just |you can |you may )?call me (?!(?:back|later|when|at|if|on|to"
                rf"|again)\b)\w"
            ),
            r"\bnenn(?:en sie)? mich\b",
            r"\bllám[ae]me\b",
            r"\bappel(?:le|ez)[- ]moi\b",
            "^[请就]?叫我",
            "と呼んで",
        ),
    ),
    _kind(
        "fact",
        0.8,
        "department",
        (rf"{_I}(?:work(?:ing)?|moved|switched|transferred) (?:in|to) (?:the )?{_DEPARTMENT}",),
    ),
    _kind(
        "fact",
        0.85,
        "residence",
        (
            rf"{_I}(?:live|living|reside|residing|based) (?:in|at|near)\b",
            (
                rf"{_I}(?:moved|relocated) "
                rf"(?:back )?to\b"
            ),
            rf"\bwe(?:['’]re| are)? (?:{_NOW} )*(?:live|living) (?:in|near)\b",
            r"\bich (?:wohne|lebe) (?:\w+ )?(?:in|bei|auf)\b",
            r"\bich bin .{1,40}\b(?:um)?gezogen\b",
            r"\bvivo en\b",
            r"\bme (?:he mudado|mudé) a\b",
            r"\bj['’](?:habite|ai (?:déménagé|emménagé))\b",
            r"\bje vis (?:à|en|aux?|dans)\b",
            "我(?:现在|目前)?(?:住在|搬到|搬去)",
            "に(?:住んで|引っ越し)",
        ),
    ),
    _kind(
        "fact",
        0.8,
        "employer",
        (
            rf"{_I}(?:work(?:ing)? (?:at|for)|employed (?:at|by)|joined (?:the )?{NAME})",
            r"\bmy (?:new )?employer is\b",
            rf"{_I}started (?:working )?at {NAME}",
            r"\bich arbeite (?:\w+ )?(?:bei|für)\b",
            r"\btrabajo (?:en|para)\b",
            (
                r"\bje travaille "
                r"(?:chez|pour)\b"
            ),
            "我(?:现在)?在.{1,20}(?:工作|上班)",
            "で(?:働いて|勤務)",
            "に勤めて",
        ),
    ),
    _kind(
        "fact",
        0.8,
        "occupation",
        (
            rf"{_I}work(?:ing)? as\b",
            r"\bmy (?:job|occupation|profession|role|title|job title) is\b",
            rf"\bI(?:['’]m|m| am) (?:{_NOW} )*an? (?:\w+ ){{0,3}}(?:{_TRADES})\b",
            r"\bich arbeite (?:\w+ )?als\b",
            r"\bich bin .{1,40} von beruf\b",
            r"\bmein beruf ist\b",
            r"\btrabajo (?:como|de)\b",
            r"\bje travaille comme\b",
            r"\bje suis .{1,40} de métier\b",
            "我是(?:一名|一个|一位|个|名)",
            "我的职业是",
            "(?:の仕事をして|として働いて)",
        ),
    ),
    _kind(
        "fact",
        0.9,
        "birthday",
        (
            r"\bmy birthday is\b",
            r"\bI was born (?:on|in)\b",
            r"\bmein geburtstag ist\b",
            r"\bmi cumpleaños es\b",
            r"\bmon anniversaire est\b",
            "我的生日[是在]",
            "誕生日は",
        ),
    ),
    _kind(
        "fact",
        0.85,
        "age",
        (
            (
                rf"\b(?:I['’]m|Im|I am|I turned|I just turned|ich bin) (?:now |already |jetzt |schon "
                rf")?\d{{1,3}}{_AGED}"
            ),
            (
                rf"(?P<what>{NAME})(?:, (?:she|he|sie|er))? (?:is|turned|ist|wurde) (?:now |jetzt "
                rf")?\d{{1,3}}{_AGED}"
            ),
        ),
    ),
    _kind(
        "fact",
        0.6,
        "time",
        (
            (
                rf"\bmy (?P<what>{_TIMED}) (?:is|leaves|departs|starts|begins) (?:now )?at "
                rf"{_TIME}{_AT_NO_DAY}"
            ),
            (
                rf"\bmein(?:e|en)? (?P<what>{_TIMED}) (?:ist|geht|beginnt) (?:jetzt )?um "
                rf"{_TIME}{_AT_NO_DAY}"
            ),
        ),
    ),
    _kind(
        "fact",
        0.9,
        "allergy",
        (
            rf"{_I}allergic to {_WHAT}",
            rf"{_I}an allergy to {_WHAT}",
            rf"\bmy allergy to {_WHAT}",
            rf"\bich bin (?:\w+ )?allergisch (?:gegen|auf) {_WHAT}",
            r"\bich bin (?:gegen|auf) (?P<what>.{1,40}?) allergisch\b",
            rf"\bsoy (?:muy )?alérgic[oa] (?:al? ){_WHAT}",
            rf"\bje suis allergique (?:aux? |à ){_WHAT}",
            "我对(?P<what>.{1,12}?)过敏",
            "^(?:私は)?(?P<what>[^、。は]{1,12})アレルギー",
        ),
    ),
    _kind(
        "instruction",
        0.85,
        "answer_language",
        (
            rf"{_START}{_FROM_NOW}(?:you {_MAY} )?(?:always |never |only )?{_ANSWERING} in {_LANGUAGE}",
            rf"{_START}{_FROM_NOW}(?:you {_MAY} )?switch (?:back )?to {_LANGUAGE}",
            (
                rf"{_START}(?:you {_MAY} )?(?:drop|stop|skip)(?: the| with the| {_ANSWERING} in)? "
                rf"{_LANGUAGE}"
            ),
            rf"(?:^|[,;] |\band )\W*{_LANGUAGE} is (?:fine|ok|okay|enough) (?:now|again|from now on)\b",
            rf"{_START}antworte(?:n sie)?(?: mir)?(?: immer| nur)?(?: wieder)? auf {_LANGUAGE}",
            (
                rf"{_START}(?:siempre )?(?:responde|respóndeme|habla|escribe)(?: me)? (?:siempre )?en "
                rf"{_LANGUAGE}"
            ),
            (
                rf"{_START}(?:répond(?:s|ez)|parlez?|écri(?:s|vez))(?:[- ]moi)? (?:toujours )?en "
                rf"{_LANGUAGE}"
            ),
        ),
    ),
    _kind(
        "instruction",
        0.85,
        "rule",
        (
            (
                rf"{_START}(?:you (?:should|must) )?(?:always|never(?! mind)|don['’]t ever|do not ever) "
                rf"{_WHAT}"
            ),
            rf"{_START}(?:from now on|going forward|in (?:the )?future|whenever|every time),? {_WHAT}",
            (
                rf"{_START}(?:answer|reply|respond|write|speak|talk)(?: to)?(?: me)?(?: only| always)? "
                rf"{_WHAT} from now on"
            ),
            rf"{_START}(?:answer|reply|respond|speak)(?: to)?(?: me)?(?: only| always)? (?=in ){_WHAT}",
            rf"{_START}(?:immer|nie(?:mals)?|ab jetzt|von nun an|in zukunft),? {_WHAT}",
            rf"{_START}antworte(?:n sie)?(?: mir)? {_WHAT}",
            rf"{_START}(?:siempre|nunca|a partir de ahora|de ahora en adelante),? {_WHAT}",
            rf"{_START}(?:responde|respóndeme|habla|escribe)(?: me)? (?:siempre )?(?=en ){_WHAT}",
            (
                rf"{_START}(?:répond(?:s|ez)|parlez?|écri(?:s|vez))(?:[- ]moi)? (?:toujours )?(?=en "
                rf"){_WHAT}"
            ),
            rf"{_START}(?:toujours|jamais|désormais|dorénavant|à partir de maintenant),? {_WHAT}",
            r"^\W*请?(?:总是|永远|从不|以后|始终|务必|不要再|从现在起|每次)(?P<what>[^，。！？]{1,40})",
            r"^\W*(?:いつも|必ず|絶対に|今後は|これからは|決して)(?P<what>[^、。！？]{1,40})",
        ),
    ),
    _kind(
        "task",
        0.7,
        None,
        (
            r"\bremind me\b",
            r"\bdon['’]t let me forget\b",
            (
                r"\bI(?: still| also| really)? must\b(?! "
                r"(?:say|admit))"
            ),
            rf"{_NOT_ASKED}\bI(?: still| also| really|['’]ve)? (?:need|have|ought|got) to\b{_BUT_WORDS}",
            r"\berinner[en]?(?:en sie)? mich\b",
            r"\bich (?:muss|soll(?:te)?)\b",
            r"\brecuérd[ae]me\b",
            r"\b(?:tengo que|debo|necesito) \w+[aei]r\b",
            r"\brappel(?:le|ez)[- ]moi\b",
            r"\b(?:je dois|il faut que je)\b",
            "提醒我|我(?:还)?(?:需要|必须|得)(?!到)",
            "(?:しなければ|しないといけ|する必要|リマインド|思い出させて)",
        ),
    ),
    _kind(
        "fact",
        0.8,
        "favorite",
        (
            r"\bmy favou?rite (?P<what>\w+(?: \w+)?) (?:is|are)\b",
            r"\bmeine? liebling(?:s(?P<what>\w+)) ist\b",
            r"\bmi (?P<what>\w+) favorit[oa] es\b",
            r"\bmon (?P<what>\w+) préféré est\b",
            "我最喜欢的(?P<what>[^是]{1,8})是",
            "(?:私の)?(?:一番)?好きな(?P<what>[^は]{1,8})は",
        ),
    ),
    _kind(
        "fact",
        0.75,
        "preference",
        (
            rf"{_I}(?:prefer|like|love|enjoy|adore|hate|dislike|detest|can['’]t stand) {_WHAT}",
            rf"\bI (?:don['’]t|do not|no longer) (?:really |even )?(?:like|enjoy|eat|drink) {_WHAT}",
            rf"\bI(?:['’]ve| have)? (?:stopped|quit|given up|gave up) (?:eating|drinking) {_WHAT}",
            rf"\bich (?:mag|bevorzuge|liebe|hasse|esse|trinke) {_WHAT}",
            rf"\b(?:prefiero|odio|detesto|(?:no )?me (?:gustan?|encantan?)) {_WHAT}",
            rf"\b(?:je préfère|j['’]aime|j['’]adore|je déteste|je n['’]aime pas) {_WHAT}",
            "我[真的非常更最很不也]*(?:喜欢|爱|讨厌|偏好)(?P<what>[^，。！？]{1,20})",
            "(?P<what>[^、。はがもの]{1,16})(?:が|は|も)(?:大|一番)?(?:好き|嫌い)",
        ),
    ),
    _kind(
        "event",
        0.7,
        None,
        (
            rf"{_LATELY}(?P<who>{SOMEBODY}) (?:has |just |finally |sadly )*{_LIVED_THROUGH}\b",
            (
                rf"^\W*(?P<who>{SOMEBODY}) (?:ist|hat|wurde) (?:\w+ "
                rf"){{0,3}}(?:gestorben|geboren|geheiratet|umgezogen)\b"
            ),
        ),
    ),
)
"""The first kind with a phrase in the statement counts."""
_PHRASES = [
    (kind, re.compile(phrase, re.IGNORECASE)) for kind in STATEMENT_KINDS for phrase in kind.phrases
]
_SIEVE = Sieve([phrase.pattern for _, phrase in _PHRASES], re.IGNORECASE)


@lru_cache(maxsize=64)  # a sentence's clauses are asked for several times
def kind_of(text: str) -> tuple[StatementKind | None, re.Match[str] | None]:
    """The first kind with a phrase in the text, and where it stands."""
    for number in _SIEVE.candidates(text):
        kind, phrase = _PHRASES[number]
        if found := phrase.search(text):
            return kind, found
    return None, None


_NOT_WHAT = """
    a an the my to of some any it that this these those you your them him her so very much lot lots really too better
    best most more also der die das den dem ein eine einen kein keine keinen nicht nie gern gerne lieber sehr am el la
    los las un una mucho más le les du de des pas bien beaucoup plus l aux à al immer always only
    siempre toujours anymore longer now nowadays lately these days
"""
NOT_WHAT = frozenset(_NOT_WHAT.split())
"""Words that name nothing that is liked or is to be done."""
