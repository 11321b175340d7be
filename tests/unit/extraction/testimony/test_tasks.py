"""Texts below a task are material, by the kinds of words that the task has."""

from __future__ import annotations

import pytest
from palimpsest.extraction.testimony.spans import own_text, spans

TASKS = [
    ("spot the mistakes plz\ni has a dog and i lives in Paris", "Paris"),
    ("whats wrong w/ this sentence: I am living in Oslo since 2010", "Oslo"),
    ("make this less wordy - I am an accountant based in York", "York"),
    ("pls turn into bullet points I work at Lidl, I live in Trier", "Lidl"),
    ("pls say in korean i live in malmo and i like kimchi", "malmo"),
    ("would you swipe right?\n\nHi, I'm Ken, 34, living in Bath", "Bath"),
    ("what do u think of her reply\n\nI moved to Malmo last year", "Malmo"),
    ("Translate for my nan\nI have a new job in Malmo", "Malmo"),
    ("Kannst du das kürzer machen? Ich arbeite bei Siemens in Erlangen.", "Erlangen"),
    ("Wie würdest du darauf antworten?\n\nHallo, ich bin Uwe und wohne in Graz.", "Graz"),
    ("Tu peux me raccourcir ça ? J'habite à Toulouse.", "Toulouse"),
    ("¿Me lo acortas? Vivo en Móstoles.", "Móstoles"),
    ("¿Está bien escrito? Yo vivo en Lugo y tengo dos perro", "Lugo"),
    ("The voicemail went like hi its Greg I moved to Perth", "Perth"),
    ("The exam text goes as follows. I am Pierre and I live in Lyon.", "Lyon"),
    ("On Reddit somebody posted I quit my job at Google", "Google"),
    ("Check my son's essay please:\nI have a horse and I live in Ghent.", "Ghent"),
    ("Grammatik meines Schülers prüfen:\nIch wohne seid Mai in Graz.", "Graz"),
    ("Corrige les fautes de ma voisine :\nJ'habite à Toulouse depui mai.", "Toulouse"),
    ("shorter pls >> I am on leave and I moved to Malmo << from my boss", "Malmo"),
    ("A poem of mine:\n\nI live in Ghent,\nI own the rain.", "Ghent"),
]
OWN = [
    ("Can you help me with this? I live in Porto and my boiler is broken.", "Porto"),
    ("Thoughts?\n\nI live in Porto and I want to move to Lisbon.", "Porto"),
    ("Please answer shorter. I live in Porto.", "Porto"),
    ("Rate my plan: I live in Porto and I want to open a bar.", "Porto"),
    ("Can you make it cheaper? I live in Porto.", "Porto"),
    ("Note to self: I have a nut allergy.", "nut"),
    ("My spelling is bad. I live in Porto.", "Porto"),
    ("Review this later. I live in Porto.", "Porto"),
    ("The book says I should eat more iron. I live in Kiel.", "Kiel"),
    ("The song goes on my nerves. I live in Porto.", "Porto"),
    ("Was hältst du davon? Ich ziehe nach Graz.", "Graz"),
    ("¿Me ayudas con esto? Vivo en Lugo y busco piso.", "Lugo"),
    ("Translate this sign, and while I'm at it: I live in Ghent now.", "Ghent"),
    ("Rewrite the intro nicely, it's about me: I have lived in Ghent since May.", "Ghent"),
    ("Is 'seperate' spelled right? I live in Ghent.", "Ghent"),
]


@pytest.mark.parametrize(("text", "word"), TASKS)
def test_a_text_below_a_task_is_material(text: str, word: str) -> None:
    assert word not in own_text(text, spans(text))


@pytest.mark.parametrize(("text", "word"), OWN)
def test_a_question_about_the_speaker_is_no_task(text: str, word: str) -> None:
    assert word in own_text(text, spans(text))
