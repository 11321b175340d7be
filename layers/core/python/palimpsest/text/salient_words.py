"""Words by which a sentence worth remembering is told, in the languages that we know them of."""
# ruff: noqa: RUF001 - words of many scripts

from __future__ import annotations

import re


def _either(words: tuple[str, ...], *, attached: tuple[str, ...] = ()) -> re.Pattern[str]:
    """Whole words, or (`attached`) letters of scripts that write no blanks or grow words together; case is ignored."""
    return re.compile("|".join((rf"\b(?:{'|'.join(words)})\b", *attached)), re.IGNORECASE)


# Who the user is and what they like, in their own words; the third person is a model's earlier summary.
WHO = _either(
    (
        r"my name(?:['’]s| is)|call me|this is (?-i:[A-Z])\w+ (?:from|in|at)|the user(?:['’]s name| is)",
        r"I(?:['’]m| am) (?-i:[A-Z])[a-z]+|I(?:['’]m| am) (?!\w+ing\b)\w+ (?:from|at)|(?-i:im) \w+ (?:from|at|in)",
        r"I(?:['’]m| am) (?:allergic|married|\d+|an?(?! bit| little))",
        r"I (?:live|work(?! out)|was born|come from|grew up|moved to|always|never|prefer|love|hate)",
        r"I (?:have|own) (?:an?|one|two|three|four|no|\d+) (?!question|problem|meeting|moment)\w+",
        r"I(?:['’]ve| have) (?:been|worked|lived) (?:with|at|in|for|an?|here|as)",
        r"my (?:wife|husband|partner|girlfriend|boyfriend|son|daughter|kids?|children|dog|cat|mother|father)",
        r"my (?:birthday|e-?mail|phone|address|job|role|title|team|manager|boss|hobby|favou?rite \w+) (?:is|are)",
        r"me llamo|mi nombre es|soy|vivo en|trabajo (?:en|como|para)|prefiero|tengo \d+ años",
        r"je m['’]appelle|je suis|je travaille|j['’]habite|je préfère|j['’]ai \d+ ans",
        r"ich hei(?:ß|ss)e|mein name ist|ich bin|ich arbeite|ich wohne|ich mag",
        r"mi chiamo|io sono|sono (?:un|una|di)|lavoro (?:in|come|per)|abito",
        r"meu nome é|me chamo|chamo-me|eu sou|trabalho (?:em|na|no|como)|moro em",
        r"ik heet|ik ben|mijn naam is|ik werk|ik woon|nazywam się|mam na imię|jestem|pracuję|mieszkam",
        r"меня зовут|мо[её] имя|я (?:работаю|живу|люблю|предпочитаю)|мне \d+ (?:лет|год)",
        r"(?:benim )?adım|tôi tên|tên tôi|tôi là|nama saya|saya adalah",
    ),
    attached=(
        r"我叫|我是|我的名字|我姓|我住|我喜欢|我不吃|我对.{1,12}过敏|私は|私の名前|僕は|俺は|と申します|と言います",
        r"저는|제 이름|나는|내 이름|اسمي|أنا |أعمل |أسكن |मेरा नाम|मैं .{1,40}(?:हूँ|हूं)|שמי |אני |ชื่อ",
    ),
)
FIRST_PERSON = _either(
    (
        r"I|I['’]\w+|my|mine|we|we['’]\w+|our|us",
        r"je|j['’]\w+|mon|mes|nous|notre|yo|mi|mis|nosotros|ich|mein\w*|mir|mich|wir|unser\w*",
        r"mio|mia|noi|eu|meu|minha|nós|ik|mijn|wij|moj\w*|mój|ben|benim|bizim|tôi|saya|aku",
        r"я|мой|моя|мо[её]|мне|меня|мы|наш\w*",
    ),
    attached=(r"我|咱|私|僕|俺|わたし|저는|제가|나는|내가|우리|أنا|عندي|لدي|أريد|मैं|मेर|मुझे|हम|אני|שלי|ฉัน|ผม",),
)
NUMBER_WORD = _either(
    (
        r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|thousand",
        r"million|half|dos|tres|cuatro|cinco|seis|siete|ocho|diez|cien|deux|trois|quatre|cinq|sept|huit|dix|cent",
        r"zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|hundert|due|tre|quattro|cinque|dieci|dois|três|dez",
        r"два|две|три|четыре|пять|шесть|семь|десять|сто",
        r"january|february|march|april|june|july|august|september|october|november|december|deadline",
        r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|daily|weekly|monthly|yearly|annual\w*|tomorrow|tonight",
    ),
    attached=(r"[一二三四五六七八九十百千万两]+个?[天日周月年次元块岁人]", r"[월화수목금토일]요일"),
)
# What was decided, allowed, asked for, preferred or corrected.
SETTLED = _either(
    (
        r"decid\w+|decision|agree\w*|must|have to|need\w*|should|requir\w+|approv\w+|allow\w*|eligib\w+|prefer\w*",
        r"favou?rite|always|never|allerg\w+|plan\w*|policy|promis\w+|confirm\w*|cancel\w*|chose\w*|choose|goal",
        r"important|remember|instead|actually|changed?|moved|correct\w*|appeal|escalat\w+|love|hate|cannot",
        r"can['’]t|up to|at least|at most|only|until|no longer",
        r"acord\w+|debe\w*|prefier\w+|siempre|nunca|alérgic\w+|doit|doivent|décid\w+|préfèr\w+|toujours|jamais",
        r"entschied\w+|muss|müssen|immer|niemals|bevorzug\w+|vereinbart|sempre|mai|devo|deve|prefiro|moet",
        r"решил\w*|нужно|долж\w+|всегда|никогда|предпочита\w+|нельзя|можно",
    ),
    attached=(
        r"决定|必须|需要|喜欢|总是|从不|过敏|同意|计划|不能|最多|至少|決め|必要|好き|アレルギー|予定|いつも",
        r"결정|필요|좋아|항상|알레르기|قرر|يجب|أحتاج|أفضل|دائما|حساسية|ज़रूरी|हमेशा|पसंद|फैसला",
    ),
)
# Greetings, thanks, offers of help: what a sentence begins with that says nothing.
FILLER = _either(
    (
        r"hi|hello|hey|thanks?|thx|thank you|ok|okay|great|perfect|sure|of course|absolutely|certainly|wonderful",
        r"you['’]?re welcome|any ?time|no problem|got it|sounds good|let me know|feel free|please let|have an?",
        r"(?:no|nope)?,? ?that['’]?s (?:great|helpful|good|all|it)|(?:is|was) there anything|anything else",
        r"(?:how|what) (?:can|may) I|(?:I['’]?(?:d|ll|m)|I (?:would|will|am))? ?(?:be )?(?:very )?(?:happy|glad) to",
        r"I hope|I see|goodbye|bye|good (?:morning|afternoon|evening|question|luck)|enjoy|yes,? please",
        r"hola|gracias|de nada|perfecto|claro|vale|genial|bonjour|merci|de rien|parfait|hallo|danke|bitte|super",
        r"ciao|grazie|prego|perfetto|certo|olá|obrigad\w+|perfeito|hoi|bedankt",
        r"привет|здравствуйте|спасибо|пожалуйста|хорошо|отлично",
    ),
    attached=(r"谢谢|你好|您好|好的|不客气|ありがとう|こんにちは|감사|안녕|شكرا|مرحبا|أهلا|धन्यवाद|नमस्ते",),
)
# An answer that begins so, or that is hardly longer, says little without its question.
SHORT_ANSWER = _either(
    (r"yes|yeah|yep|no|nope|it|that|this|they|both|neither|sí|si|oui|non|ja|nein|nee|sim|não|да|нет",),
    attached=(r"是的|不是|对|はい|いいえ|네|아니|نعم|لا |हाँ|नहीं",),
)
