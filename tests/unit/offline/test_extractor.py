import time
from datetime import UTC, date, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from palimpsest.conversations.message import Message
from palimpsest.extraction.checks import ConversationOwner, checked, statement_of
from palimpsest.extraction.chunk import Chunk
from palimpsest.extraction.finding import Finding
from palimpsest.extraction.ports import Extraction, Extractor
from palimpsest.models.usage import Usage
from palimpsest.offline.extractor import CAPACITY, WORTH_REMEMBERING, PatternExtractor
from palimpsest.offline.phrases import kind_of
from palimpsest.text import salience
from palimpsest.text.analyser import document_terms, query_terms
from palimpsest.text.dates import dated, period
from palimpsest.text.sentences import is_filler, is_question, sentences, words

from tests.unit.splits import small_messages, splits

EXTRACTOR: Extractor = PatternExtractor()
OWNER = ConversationOwner("acme", "sarah", "s")


def chunk(*texts: str, role: str = "user") -> Chunk:
    messages = tuple(
        Message(
            seq,
            str(seq),
            1,
            9,
            "o200k_base",
            {"role": role, "content": text},
            "2026-01-15T09:00:00.000Z",
        )
        for seq, text in enumerate(texts, 1)
    )
    return Chunk(1, len(messages), messages)


def extraction(*texts: str, role: str = "user") -> Extraction:
    return EXTRACTOR.extract(chunk(*texts, role=role), prompt="p")


def found(text: str) -> list[Finding]:
    return list(extraction(text).findings)


def kinds(text: str) -> list[tuple[str, str | None]]:
    return [(finding.type, finding.topic) for finding in found(text)]


def test_it_says_that_no_model_found_it() -> None:
    made = extraction("I live in Rome.")
    assert (made.method, made.model, made.prompt_hash, made.usage) == (
        "pattern",
        None,
        None,
        Usage(),
    )
    assert EXTRACTOR.capacity(prompt=None) == CAPACITY


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("My name is Sarah Miller.", "name"),
        ("Hi, I'm Sarah from Marketing.", "name"),
        ("Call me Sal.", "preferred_name"),
        ("I live in Berlin.", "residence"),
        ("I'm currently living in Berlin", "residence"),
        ("I moved to Lyon.", "residence"),
        ("We live in Lyon now.", "residence"),
        ("I work at Acme.", "employer"),
        ("I now work for Bolt", "employer"),
        ("I work as a nurse.", "occupation"),
        ("I'm a senior software engineer.", "occupation"),
        ("My birthday is on May 3.", "birthday"),
        ("I'm allergic to peanuts.", "allergy_peanuts"),
        ("I like coffee a lot.", "preference_coffee"),
        ("I hate coffee", "preference_coffee"),
        ("I don't drink coffee anymore.", "preference_coffee"),
        ("I no longer drink coffee.", "preference_coffee"),
        ("I've stopped drinking coffee.", "preference_coffee"),
        ("I like coffee now.", "preference_coffee"),
        ("I really prefer window seats!", "preference_window_seats"),
        ("My favourite color is blue.", "favorite_color"),
        ("Ich heiße Jonas.", "name"),
        ("Ich wohne jetzt in Köln.", "residence"),
        ("Ich arbeite als Lehrer.", "occupation"),
        ("Ich arbeite bei Siemens.", "employer"),
        ("Ich mag keinen Kaffee.", "preference_kaffee"),
        ("Me llamo Ana.", "name"),
        ("Vivo en Lima.", "residence"),
        ("No me gusta el café.", "preference_café"),
        ("Je m'appelle Luc.", "name"),
        ("J'habite à Lyon.", "residence"),
        ("Je travaille chez Renault.", "employer"),
        ("J'aime le thé.", "preference_thé"),
        ("我叫小明。", "name"),
        ("我住在北京。", "residence"),
        ("我在腾讯工作。", "employer"),
        ("我喜欢咖啡。", "preference_咖啡"),
        ("私の名前は田中です。", "name"),
        ("東京に住んでいます。", "residence"),
        ("コーヒーが好きです。", "preference_コーヒー"),
    ],
)
def test_what_has_one_value_at_a_time_has_its_topic(text: str, topic: str) -> None:
    assert kinds(text) == [("fact", topic)]


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Always answer in German.", "answer_language"),
        ("Never answer in German!", "answer_language"),
        ("From now on, keep it short.", "rule_keep_short"),
        ("Please reply in French.", "answer_language"),
        ("Antworte immer auf Deutsch.", "answer_language"),
        ("Siempre responde en español.", "answer_language"),
        ("Réponds en français.", "answer_language"),
        ("From now on, answer in English.", "answer_language"),
        ("Actually you can drop the French.", "answer_language"),
        ("OK, English is fine from now on.", "answer_language"),
        ("以后用英文回答。", "rule_用英文回答"),
        ("いつも敬語で話してください。", "rule_敬語で話してください"),
    ],
)
def test_how_the_assistant_is_to_behave_is_an_instruction(text: str, topic: str) -> None:
    assert kinds(text) == [("instruction", topic)]


@pytest.mark.parametrize(
    "text",
    [
        "Remind me to call mum.", "Can you remind me to pay the rent?", ("I still need to finish "
                                                                        "the report."),
        "Erinnere mich an den Termin.", "Ich muss noch einkaufen.", "Tengo que pagar la renta.",
        "Rappelle-moi de payer.", "提醒我明天开会。", "明日の会議を思い出させてください。",
    ],
)  # fmt: skip
def test_what_is_still_to_be_done_is_a_task(text: str) -> None:
    assert kinds(text) == [("task", None)]


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("I ran a marathon yesterday.", "2026-01-14"),
        ("Last week I met Tom.", "week of 2026-01-05"),
        ("I fly to Oslo next Friday.", "2026-01-16"),
        ("Gestern war ich im Kino.", "2026-01-14"),
        ("Ayer fui a mi dentista.", "2026-01-14"),
        ("Hier, j'ai couru.", "2026-01-14"),
        ("昨天我去了长城。", "2026-01-14"),
        ("昨日、私は京都に行きました。", "2026-01-14"),
    ],
)
def test_what_happened_at_a_time_is_an_event_with_its_date(text: str, date: str) -> None:
    (finding,) = found(text)
    what = chunk(text)
    told = statement_of(
        finding, {1: what.messages[0]}, session="s", agent=None, method="pattern", prompt_hash=None
    )
    assert told.type == "event"
    assert f"({date})" in told.content
    assert told.content.replace(f" ({date})", "") == text


@pytest.mark.parametrize(
    "text",
    [
        "What is the weather in Rome?", "Do I live in Rome?", ("Can anybody do that, or do I have "
                                                              "to wait for it?"),
        "Thanks!", "Hello there.", "ok", "Yes.", "It rained all day.",
        "Write me a poem about cats.", "Call me back later.", "Never mind.", "I love it.", "I need to know the time.", "Twenty minutes.",
        "Wie spät ist es?", "Danke schön!", "¿Dónde está?", "Bonjour !", "你叫什么名字？", "帮我写一首诗。", "名前は何ですか？",
    ],
)  # fmt: skip
def test_questions_requests_and_small_talk_are_skipped(text: str) -> None:
    made = extraction(text)
    assert made.findings == ()
    assert made.skipped == {1: "nothing_stated"}


def test_what_others_say_is_not_the_user_s() -> None:
    made = extraction("I live in a data center.", role="assistant")
    assert (made.findings, made.skipped) == ((), {1: "not_the_user"})


@pytest.mark.parametrize(
    "text",
    ["I used to live in Rome.", "I don't live in Rome any more.", "My friend lives in Rome."],
)
def test_what_no_longer_holds_or_holds_of_others_has_no_topic_of_one_s_own(text: str) -> None:
    assert [topic for _, topic in kinds(text)] in ([], [None])


def test_who_a_statement_is_about_is_its_subject() -> None:
    assert [finding.subject for finding in found("My wife is a doctor. I love jazz.")] == [
        "wife",
        "user",
    ]
    assert [finding.subject for finding in found("Meine Tochter heißt Ida.")] == ["tochter"]


@pytest.mark.parametrize(
    ("said", "memory"),
    [
        ("One more thing: my parents live in Lisbon.", "My parents live in Lisbon."),
        ("Oh, by the way, I play the cello.", "I play the cello."),
        ("Hello, my sister Ana lives in Porto.", "My sister Ana lives in Porto."),
        ("Actually I live in Bremen now.", "Actually I live in Bremen now."),
    ],
)
def test_what_only_leads_to_a_statement_is_not_remembered_and_still_quoted(
    said: str, memory: str
) -> None:
    (finding,) = found(said)
    assert (finding.content, finding.quote) == (memory, said)


def test_several_statements_in_one_sentence_are_several_memories() -> None:
    contents = [
        finding.content
        for finding in found("Hi, I'm Sarah and I live in Berlin, and I work at Acme.")
    ]
    assert contents == ["I'm Sarah.", "I live in Berlin.", "I work at Acme."]


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        (
            "I live in Hamburg and my dog is called Rex.",
            ["I live in Hamburg.", "My dog is called Rex."],
        ),
        (
            "I live in Hamburg, work at Acme and love jazz.",
            ["I live in Hamburg.", "I work at Acme.", "I love jazz."],
        ),
        (
            "I live in Hamburg with my dog Rex, who is 3.",
            ["I live in Hamburg.", "I live with my dog Rex.", "My dog Rex, who is 3."],
        ),
        (
            "I live with my sister Ana, who is a nurse.",
            ["I live with my sister Ana.", "My sister Ana, who is a nurse."],
        ),
        ("I work at Acme with my brother Tom.", ["I work at Acme.", "I work with my brother Tom."]),
        ("I'm a nurse and live in Rome.", ["I'm a nurse.", "I live in Rome."]),
        (
            "Ich wohne in Köln und arbeite bei Siemens.",
            ["Ich wohne in Köln.", "Ich arbeite bei Siemens."],
        ),
        ("I get up at 6 and go to bed at 10.", ["I get up at 6.", "I go to bed at 10."]),
        (
            "I drive a Golf and my wife drives a Polo.",
            ["I drive a Golf.", "My wife drives a Polo."],
        ),
        ("My Mia is 7 and Ben has 9 hens.", ["My Mia is 7.", "Ben has 9 hens."]),
        (
            "Ich stehe um 6 auf und gehe um 10 ins Bett.",
            ["Ich stehe um 6 auf.", "Ich gehe um 10 ins Bett."],
        ),
        ("Je mesure 1,80 m et je pèse 80 kilos.", ["Je mesure 1,80 m.", "Je pèse 80 kilos."]),
        (
            "I'm Sarah, 34, a nurse in Leeds with two kids.",
            ["I'm Sarah.", "I'm 34.", "I'm a nurse in Leeds with two kids."],
        ),
        (
            "I'm vegan, gluten-free and allergic to nuts.",
            ["I'm vegan.", "I'm gluten-free.", "I'm allergic to nuts."],
        ),
        ("Ich bin 34 und verheiratet.", ["Ich bin 34.", "Ich bin verheiratet."]),
        ("Soy Ana, 34 años, enfermera.", ["Soy Ana.", "Tengo 34 años.", "Soy enfermera."]),
        (
            "I'm learning Welsh and I volunteer at the food bank.",
            ["I'm learning Welsh.", "I volunteer at the food bank."],
        ),
        ("No puedo comer gluten.", ["No puedo comer gluten."]),
        ("Tengo 34 años y vivo en Cádiz.", ["Tengo 34 años.", "Vivo en Cádiz."]),
        (
            "I like tea, green coffee and jazz.",
            ["I like tea.", "I like green coffee.", "I like jazz."],
        ),
        (
            "I'm allergic to peanuts and cats.",
            ["I'm allergic to peanuts.", "I'm allergic to cats."],
        ),
        ("I don't like tea or coffee.", ["I don't like tea.", "I don't like coffee."]),
        *(
            (text, [text])
            for text in (
                "My sister Ana, who is a nurse, lives in Rome.",
                "I like hiking in the Alps, especially in summer.",
                "When I was in Rome I loved it, and I met Tom.",
                "I have an appointment with my doctor on Monday.",
                "I went to Rome with my wife and my two kids.",
                "I want to go home and sleep till noon.",
                "Since I live in Leeds, I pay 12 pounds for the train.",
                "I'm married to Tom, a nurse.",
                "I'm a mother of Tom, 34.",
                "Our wedding is 22 August and the venue is the Alderley barn.",
            )
        ),
    ],
)
def test_each_thing_that_a_sentence_joins_and_that_can_change_by_itself_is_a_memory(
    text: str, contents: list[str]
) -> None:
    assert [finding.content for finding in found(text)] == contents
    assert dict(checked(found(text), chunk(text), owner=OWNER).dropped) == {}


@pytest.mark.parametrize(
    "text",
    [
        "I see what you mean.", "I see.", "I think that makes sense.", "Well, I guess so.", "I hope this helps!",
        "I appreciate your help a lot.", "I don't know, I guess so.", "I was just wondering.", "I understand.",
        "I'm looking forward to it.", "I'm happy to hear that.", "I have another quick question.", "I totally agree.",
        "I'd love to hear more.", "I'm not sure.", "x, I, I, I", "Ich verstehe.", ("I'll let you "
                                                                                  "know."), "I really love it!",
        "My wifi password is croissant, just kidding.", "I live on the moon, only joking!",
    ],
)  # fmt: skip
def test_what_states_nothing_is_no_memory(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "I smoke.",
        "I see a therapist.",
        "I'm good at chess.",
        "I hope to become a pilot.",
        "I think my dog is ill.",
        "I am 34.",
    ],
)
def test_what_only_looks_like_a_remark_is_a_memory(text: str) -> None:
    assert [finding.content for finding in found(text)] == [text]


def test_other_statements_are_kept_for_what_they_are_worth() -> None:
    assert [(each.type, each.importance) for each in found("The deadline is March 5.")] == [
        ("fact", 0.5)
    ]
    assert [each.importance for each in found("My daughter goes to school in Bern.")] == [0.8]


PIECES = (
    "I live in Rome. ",
    "我住在北京。",
    "Thanks! ",
    "\x00",
    "I like ",
    "<memory>",
    "?",
    "I'm Sarah and ",
    "\n",
    "昨天",
    "e\u0301 ",
)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=20), max_size=12).map("".join))
def test_it_never_invents(text: str) -> None:
    """Whatever it finds stands in the message, word by word, and passes the check that a model's
    answer must pass.
    """
    what = chunk(text)
    findings = EXTRACTOR.extract(what, prompt=None).findings
    said = " ".join(text.split())
    assert all(" ".join(finding.quote.split()) in said for finding in findings)
    assert all(
        word.rstrip(".。") in said for finding in findings for word in finding.content.split()
    )
    assert set(checked(findings, what, owner=OWNER).dropped) <= {
        "repeated",
        "another_user",
        "secret",
    }


WORDS = (
    "x, ",
    "I, ",
    "I ",
    "and my ",
    "I like ",
    "live in ",
    "work at ",
    "yesterday ",
    "in 3 weeks ",
    "(",
    ". ",
    "?",
    "\n",
    "always ",
    "<memory>",
    "我",
    "は",
    "a",
    "1",
    "@",
    "Ab-1 ",
    "e\u0301",
    "[User Memory]\n- ",
    "who is ",
    "with my ",
)
MEGABYTE = 10**6
MOST_SPLITS = 280
"""80 to 115 on a free core of one machine, 180 on one of another, and 203 there beside busy
processes. What reads every message twice takes more everywhere.
"""


@settings(max_examples=8)
@example(["x, ", *["I, "] * 40])
@example(["e\u0301", "<memory>", "1", "a"])
@given(st.lists(st.sampled_from(WORDS) | st.text(min_size=1, max_size=3), min_size=1, max_size=60))
def test_a_megabyte_of_hostile_repetition_takes_a_second_at_most(unit: list[str]) -> None:
    once = "".join(unit)
    text = once * (MEGABYTE // len(once))
    begun = time.process_time()
    what = chunk(text)
    made = EXTRACTOR.extract(what, prompt=None)
    checked(made.findings, what, owner=OWNER)
    dated(text, at=date(2026, 1, 15))
    period(text, now=datetime(2026, 1, 15, tzinfo=UTC))
    query_terms(text)
    document_terms(text)
    assert (
        time.process_time() - begun < 30
    )  # all five together, on a slow machine; a quadratic one takes minutes


def test_what_is_said_at_both_ends_of_a_long_message_is_found_whatever_stands_between() -> None:
    noise = " ".join(f"I, m{number} and my {number}," for number in range(MEGABYTE // 16))
    begun = time.process_time()
    contents = [finding.content for finding in found(f"I live in Rome. {noise}\nI work at Acme.")]
    assert {"I live in Rome.", "I work at Acme."} <= set(contents)
    assert time.process_time() - begun < 15


def test_ordinary_english_in_many_small_messages_takes_what_a_few_dozen_splits_into_words_take() -> (
    None
):
    what = chunk(*small_messages())
    assert splits(lambda: EXTRACTOR.extract(what, prompt=None)) < MOST_SPLITS


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("Hey! I'm Mira.", "I'm Mira."),
        ("Hi, I'm Mira and I work at Bosch.", "I'm Mira."),
        ("Good morning. This is Sam Lee from Bonn.", "This is Sam Lee from Bonn."),
        ("Hi, I'm tired.", None),
        ("Hey! I'm Dutch.", None),
        ("Hello, I'm German and I live in Rome.", None),
        ("Hi! I'm from Rome.", None),
    ],
)
def test_who_greets_and_says_who_they_are_has_a_name_and_what_they_are_is_none(
    text: str, content: str | None
) -> None:
    named = [finding.content for finding in found(text) if finding.topic == "name"]
    assert named == ([content] if content else [])
    assert dict(checked(found(text), chunk(text), owner=OWNER).dropped) == {}


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        ("My sister Anna lives in Vienna. She is a doctor.", [None, "My sister Anna is a doctor."]),
        (
            "My boss is called Priya. She's in Goa until 2027.",
            [None, "Priya is in Goa until 2027."],
        ),
        (
            "My parents visited us in May. Their house is in Graz.",
            [None, "My parents' house is in Graz."],
        ),
        (
            "I visited my wife and my son Tom. His birthday is May 3.",
            [None, "my son Tom's birthday is May 3."],
        ),
        (
            "Meine Tochter Emma lernt Geige. Sie geht in Bonn zur Schule.",
            [None, "Meine Tochter Emma geht in Bonn zur Schule."],
        ),
        ("My brother lives in Bern. Her car is from Audi 80.", [None]),
        ("They moved to Berlin in 2019.", []),
    ],
)
def test_whom_a_pronoun_means_is_named_or_it_is_no_memory(
    text: str, contents: list[str | None]
) -> None:
    made = found(text)
    assert len(made) == len(contents)
    assert all(
        finding.content == content
        for finding, content in zip(made, contents, strict=True)
        if content
    )
    assert dict(checked(made, chunk(text), owner=OWNER).dropped) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "My son Jonas is 7.",
            [(None, "son", "My son Jonas."), ("age_jonas", "jonas", "Jonas is 7.")],
        ),
        ("Sorry, Jonas is 8, not 7.", [("age_jonas", "jonas", "Sorry, Jonas is 8, not 7.")]),
        (
            "We have a daughter named Ella, she is 4.",
            [
                ("named_daughter_ella", "user", "We have a daughter named Ella."),
                ("age_ella", "ella", "Ella, she is 4."),
            ],
        ),
        (
            "My dog's name is Max. He is 3 years old.",
            [
                ("named_dog_max", "dog", "My dog's name is Max."),
                ("age_max", "max", "Max is 3 years old."),
            ],
        ),
        ("I'm 29.", [("age", "user", "I'm 29.")]),
        ("I'm 100 percent sure of Jim.", [(None, "user", "I'm 100 percent sure of Jim.")]),
    ],
)
def test_an_age_is_a_topic_and_whose_it_is_another_memory(
    text: str, said: list[tuple[str | None, str, str]]
) -> None:
    assert [(finding.topic, finding.subject, finding.content) for finding in found(text)] == said
    assert dict(checked(found(text), chunk(text), owner=OWNER).dropped) == {}


@example(["I ", "w. "])
@example(["my ", "[[((", "x "])
@example(["and my "])
@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=6), max_size=12))
def test_what_users_say_of_themselves_needs_neither_names_nor_numbers_to_be_remembered(
    unit: list[str],
) -> None:
    for sentence in sentences("".join(unit)):
        bag = words(sentence)
        if salience.is_own(sentence) and not (
            salience.is_noisy(sentence) or is_question(sentence) or is_filler(sentence, bag)
        ):
            who = salience.tells_who(sentence, speaker=salience.USER)
            worth = salience.worth(
                sentence, speaker=salience.USER, bag=bag, topic=frozenset(), who=who, asks=False
            )
            assert worth >= WORTH_REMEMBERING


@pytest.mark.parametrize(
    ("said", "topic"),
    [
        ("I work in Marketing.", "department"),
        ("I moved to Sales.", "department"),
        ("I'm now working in the finance department at Acme.", "department"),
        ("I moved to Bremen.", "residence"),
        ("I work in it every day.", None),
        ("I moved to Sales Street 5.", "residence"),
    ],
)
def test_where_in_the_company_one_works_is_a_topic_and_no_residence(
    said: str, topic: str | None
) -> None:
    kind, _ = kind_of(said)
    assert (kind.topic if kind else None) == topic


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("ich bin Lena", "ich bin Lena"),
        ("Hallo! Ich bin die Lena und ich wohne in Bonn.", "Ich bin die Lena."),
        ("Guten Tag, ich bin Jonas Weber aus Köln.", "Ich bin Jonas Weber aus Köln."),
        ("Ich bin müde.", None),
        ("Ich bin Lehrerin in Bonn.", None),
        ("Ich bin Kunde bei Ihnen.", None),
        ("Ich bin Lena dankbar für die Hilfe.", None),
        ("Ich bin Max Planck Fan.", None),
    ],
)
def test_ich_bin_lena_says_a_name_and_ich_bin_with_another_word_says_none(
    text: str, content: str | None
) -> None:
    assert [finding.content for finding in found(text) if finding.topic == "name"] == (
        [content] if content else []
    )


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("My flight is at 8:30.", "time_flight"),
        ("My flight is at 9:30, not 8:30", "time_flight"),
        ("Sorry, my flight leaves at 9.30 pm, not 8.30 pm.", "time_flight"),
        ("Mein Zug geht um 7 Uhr, nicht um 8.", "time_zug"),
        ("My flight is at 8:30 on Sunday.", None),
        ("My flight is at 10 percent of its price.", None),
        ("My flight is at gate 12.", None),
    ],
)
def test_the_time_of_ones_flight_is_a_topic_unless_a_day_is_named(
    text: str, topic: str | None
) -> None:
    assert [finding.topic for finding in found(text)] == [topic]


@pytest.mark.parametrize(
    ("text", "subject", "content"),
    [
        ("Tofu died last month.", "tofu", "Tofu died last month."),
        ("Sadly, Tofu has just died.", "tofu", "Sadly, Tofu has just died."),
        ("Anna Weber got married and I work at Acme.", "anna weber", "Anna Weber got married."),
        ("Ella was born on May 3.", "ella", "Ella was born on May 3."),
        ("Jonas graduated!", "jonas", "Jonas graduated!"),
        ("Yesterday Priya moved to Berlin.", "priya", "Yesterday Priya moved to Berlin."),
        ("Tofu ist letzten Monat gestorben.", "tofu", "Tofu ist letzten Monat gestorben."),
        ("My dog is called Tofu. He died last month.", "tofu", "Tofu died last month."),
    ],
)
def test_what_somebody_who_is_named_lived_through_is_an_event(
    text: str, subject: str, content: str
) -> None:
    event = next(finding for finding in found(text) if finding.type == "event")
    assert (event.subject, event.content) == (subject, content)


@pytest.mark.parametrize(
    "text",
    [
        "The battery died.",
        "Everything died down.",
        "Did Tofu die?",
        "Who died?",
        "It died.",
        "Meeting moved to Friday.",
        "tofu died out in this recipe",
        "Somebody moved out.",
        "Der Akku ist gestorben.",
        "Just kidding, Tofu died.",
    ],
)
def test_what_no_name_lived_through_is_no_event(text: str) -> None:
    assert [finding for finding in found(text) if finding.type == "event"] == []


@pytest.mark.parametrize(
    "text", ["La cita es el lunes.", "Le rendez-vous est lundi.", "El examen es a las 9:30."]
)
def test_a_thing_that_has_a_day_or_a_time_needs_no_owner(text: str) -> None:
    (finding,) = EXTRACTOR.extract(chunk(text), prompt=None).findings
    assert (finding.content, finding.depends) == (text, False)


@pytest.mark.parametrize("text", ["La cita es bonita.", "El sol es amarillo."])
def test_a_thing_without_a_day_is_no_memory_by_itself(text: str) -> None:
    findings = EXTRACTOR.extract(chunk(text), prompt=None).findings
    assert all(finding.depends for finding in findings)


@pytest.mark.parametrize(
    "text",
    [
        "Always use the first variant there.",
        "Never do it that way.",
        "From now on always put it there.",
        "Immer dort ablegen und nie da.",
        "Toujours le mettre là.",
        "Siempre ponlo ahí.",
    ],
)
def test_a_rule_that_only_its_conversation_explains_is_no_memory(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Always use the metric system there in the reports.",
        "Never suggest restaurants in Kiel, I know everybody there.",
        "Immer auf Deutsch antworten.",
        "Toujours répondre en français.",
        "Nunca uses emojis en los informes.",
    ],
)
def test_a_rule_that_means_something_by_itself_is_known(text: str) -> None:
    assert [finding.type for finding in found(text)] == ["instruction"]


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("My wife and I live in Kiel.", "user"),
        ("Meine Frau und ich wohnen in Kiel.", "user"),
        ("Mi novia y yo hemos reservado en Cádiz.", "user"),
        ("My wife lives in Kiel.", "wife"),
    ],
)
def test_what_somebody_and_the_user_do_is_about_the_user(text: str, subject: str) -> None:
    assert [finding.subject for finding in found(text)] == [subject]
