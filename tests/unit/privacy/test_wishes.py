"""What speakers want nobody to remember, and what they only seem to."""

from __future__ import annotations

import pytest
from palimpsest.privacy.wishes import NO_WISH, kept_from, wish_of

OFF = [
    "Can this stay out of my file? I'm on antidepressants.",
    "My cousin is in rehab. That must not show up anywhere.",
    "For your ears only: I voted for the other side.",
    "Das soll nirgends stehen: Ich trinke zu viel.",
    "Nur für dich: Ich bin verliebt.",
    "Ich bin krank. Das soll nicht in meiner Akte landen.",
    "Juste pour toi : je divorce.",
    "Cela ne doit apparaître nulle part : je bois.",
    "Solo entre nosotros: odio a mi jefe.",
    "Esto no debe constar en ningún sitio: tomé drogas.",
    "I'm seeing a therapist, but that's not for your files.",
    "dont rmbr this: i failed math",
    "Treat this as private and don't save: my wife left me.",
    "Let's keep that one off the books: I'm interviewing at Apple.",
    "Would you mind not saving what I'm about to type? I lost my job.",
    "Just venting, don't learn from this: my boss is a monster.",
    "Behandle das vertraulich: Ich lasse mich scheiden.",
    "Es wäre mir lieb, wenn du das nicht behältst: Ich trinke wieder.",
    "Das hier ist nur zwischen uns, ich habe eine Affäre.",
    "Je préfère que tu ne gardes pas ça : je suis malade.",
    "Il ne faut pas que tu t'en souviennes : je bois.",
    "No te acuerdes de esto, por favor: estoy endeudado.",
    "I have a crush on Nils, and this shouldn't go into your memory, and I like tea.",
    "This is confidential and not to be stored: I'm under investigation.",
    "Nobody needs to store this, but I failed my driving test.",
    "Do not commit this to memory: I'm pregnant.",
    "Ich bin schwanger, aber das muss erstmal unter uns bleiben.",
    "Nicht merken bitte: ich habe mich bei SAP beworben.",
    "Das gehört nicht in dein Gedächtnis: ich war im Gefängnis.",
    "Surtout ne note pas ça, j'ai perdu mon emploi.",
    "No lo recuerdes, pero estoy buscando trabajo.",
    "Que esto no salga de aquí: estoy embarazada.",
    "Don't remember this: I'm seeing a therapist.",
    "Off the record, I hate my job.",
    "I'm pregnant. Please don't save this.",
    "please do not store that in your memory, I owe Bob 300 euros",
    "This stays between us: I am leaving the company.",
    "Between you and me, I failed the exam.",
    "Just between us, I dyed my hair.",
    "Keep this between us. I'm broke.",
    "Don't write this down, but I smoke.",
    "Never record what I'm about to say: I cheated.",
    "I'm moving out. That's not for the record.",
    "Don't note that I was late.",
    "Please don't add this to your memory: I have asthma.",
    "Das bleibt unter uns: Ich kündige bald.",
    "Merk dir das nicht, aber ich bin schwanger.",
    "Ich habe Schulden. Bitte nicht merken.",
    "Bitte speichere das nicht: Ich trinke zu viel.",
    "Unter uns gesagt, ich mag meinen Chef nicht.",
    "Ich bin krank, das bitte nicht speichern.",
    "Behalte das für dich: Ich habe gekündigt.",
    "Ne retiens pas ça : je suis enceinte.",
    "Ça reste entre nous, je vais démissionner.",
    "Entre nous, je déteste mon chef.",
    "N'enregistre pas ça, j'ai des dettes.",
    "J'ai raté l'examen, à ne pas retenir.",
    "No lo recuerdes: estoy embarazada.",
    "No recuerdes esto, tengo deudas.",
    "Esto queda entre nosotros: voy a dimitir.",
    "No guardes esto, por favor. Fumo.",
    "Que quede entre nosotros, odio mi trabajo.",
    "I don't want you to remember this: I'm ill.",
    "This is off-the-record: I'm ill.",
    "Ich möchte nicht, dass du dir das merkst: Ich bin krank.",
    "Nicht merken: ich bin krank.",
    "Je ne veux pas que tu retiennes ça : je suis malade.",
    "Ne te souviens pas de ça : je suis malade.",
    "No quiero que recuerdes esto: estoy enfermo.",
]
BACK = [
    "Scratch that from your memory.",
    "take back what i said about my dad",
    "Please delete my previous message.",
    "Vergiss das bitte sofort wieder.",
    "Meine letzte Nachricht bitte vergessen.",
    "Tu peux effacer ça de ta mémoire ?",
    "Bórralo de tu memoria, por favor.",
    "Scratch that, you never heard it.",
    "Forget that last bit.",
    "No he dicho nada.",
    "Vergiss das von eben.",
    "Please drop it from your memory.",
    "Forget what I just said.",
    "Please forget everything I just told you",
    "forget I said that",
    "Forget my last message.",
    "Pretend I never said that.",
    "Don't remember that.",
    "Please don't save that.",
    "That was off the record.",
    "That stays between us, ok?",
    "Vergiss, was ich gerade gesagt habe.",
    "Vergiss bitte, was ich eben gesagt habe!",
    "Merk dir das bitte nicht.",
    "Das bleibt unter uns.",
    "Oublie ce que je viens de dire.",
    "Ne retiens pas ça, s'il te plaît.",
    "Olvida lo que acabo de decir.",
    "No lo recuerdes.",
    "Vergiss das bitte.",
    "Please forget that.",
    "Olvida eso, por favor.",
]
NEXT = [
    "Can I tell you something off the record?",
    "Off the record:",
    "Can you keep a secret?",
    "Darf ich dir etwas sagen, das unter uns bleibt?",
]
NONE = [
    "I bought this only for you.",
    "The error does not show up anywhere.",
    "Ich habe das nur für dich gekocht.",
    "Das Profil ist für dich.",
    "Esto es solo para ti.",
    "Scratch that, 4pm",
    "Delete it from the table, I work with Postgres.",
    "That's not in my notes, I study law.",
    "The key stays here, I live upstairs.",
    "She kept that secret for years. I admire her.",
    "There's a rabbit in it that nobody has noted for five hundred years.",
    "Das bleibt so, ich wohne in Bonn.",
    "Ça reste ouvert, je travaille jusqu'à 20 heures.",
    "No lo guardo en casa, vivo en un piso.",
    "This milk should not be kept in the fridge.",
    "I'd prefer not to keep a car.",
    "The meeting was not recorded.",
    "My files are confidential at work.",
    "I make a memory of each trip.",
    "Don't forget that I live in Kiel.",
    "Please remember this: I live in Kiel.",
    "I bought an off the record player, no: an off-brand record player.",
    "I love the Off The Record store in Leeds.",
    "Forget it, let's go on with the trip.",
    "Forget about the hotel, I want a hostel.",
    "Never forget what I just said!",
    "I don't remember this song.",
    "I can't remember what I said.",
    "I never save that much money.",
    "Don't store this cheese in the fridge.",
    "The distance between us is 40 km.",
    "My wife and I share the chores between us.",
    "There is a difference between you and me.",
    "My boss told me to keep this plant alive.",
    "Vergiss nicht, dass ich in Kiel wohne.",
    "Merk dir bitte, dass ich in Kiel wohne.",
    "Ich kann mir das nicht merken.",
    "Vergiss es, machen wir mit der Reise weiter.",
    "Unter uns wohnt eine Familie mit Hund.",
    "N'oublie pas que j'habite à Kiel.",
    "La distance entre nous est grande.",
    "Oublie ça, parlons du voyage.",
    "No olvides que vivo en Kiel.",
    "Olvídalo, sigamos con el viaje.",
    "La distancia entre nosotros es grande.",
    "I keep records of my off days.",
    'She said "don\'t remember this" in the play.',
]


@pytest.mark.parametrize("text", OFF)
def test_what_is_off_the_record_is_known_by_its_words(text: str) -> None:
    wish = wish_of(text)
    assert wish.is_off_record
    assert not wish.takes_back


@pytest.mark.parametrize("text", BACK)
def test_a_speaker_takes_back_what_was_said_before(text: str) -> None:
    assert wish_of(text).takes_back


@pytest.mark.parametrize("text", NEXT)
def test_an_announcement_covers_what_is_said_next(text: str) -> None:
    wish = wish_of(text)
    assert wish.covers_next
    assert not wish.takes_back


@pytest.mark.parametrize(
    "text",
    [
        "Thanks. Please keep in mind what I just told you about my skin.",
        "What I say next should go into your memory.",
        "Merk dir, was ich dir eben erzählt habe.",
        "Retiens ce que je viens de te dire.",
        "Recuerda lo que te acabo de contar.",
    ],
)
def test_who_asks_to_remember_wishes_nothing_off_the_record(text: str) -> None:
    assert wish_of(text) == NO_WISH


@pytest.mark.parametrize("text", NONE)
def test_other_words_are_no_wish(text: str) -> None:
    assert wish_of(text) == NO_WISH


@pytest.mark.parametrize(
    ("wish", "rest"),
    [
        ("Forget that please. ", "By the way, I live in Leeds."),
        ("I'm quitting in May. Forget what I just said. ", "I live in Perth."),
        ("Vergiss das. ", "Ich wohne in Kiel."),
        ("Oublie ça. ", "J'habite à Lyon."),
        ("Olvida eso. ", "Vivo en Vigo."),
    ],
)
def test_statements_after_a_wish_to_forget_what_was_said_are_kept(wish: str, rest: str) -> None:
    start = kept_from(wish + rest, before="I have a secret.")
    assert start is not None
    assert (wish + rest)[start:] == rest


@pytest.mark.parametrize(
    "text",
    [
        "Off the record. I'm pregnant.",
        "Don't save this. I'm pregnant.",
        "I drink. My wife left me in May. Forget all of this please.",
        "Forget that. I was drunk when I said it.",
        "Forget that. Thanks!",
        "Forget that. And don't remember this: I'm broke.",
    ],
)
def test_a_wish_about_the_whole_message_keeps_nothing(text: str) -> None:
    assert kept_from(text, before="") is None


def test_a_wish_at_the_beginning_of_a_session_may_be_about_the_words_after_it() -> None:
    assert kept_from("Forget this. I'm pregnant.", before=None) is None
