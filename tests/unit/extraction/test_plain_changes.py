"""What users say in plain words about what has changed: the new value is believed, and the old one
is not.
"""

from __future__ import annotations

import pytest

from tests.unit.memory.test_ends_and_corrections import current, told

CHANGES = [
    ("I work from home on Fridays.", "I work from home on Mondays now.", "on Mondays"),
    ("I use Windows at work.", "I use Linux at work now.", "Linux"),
    ("I use Vim.", "I switched from Vim to Zed.", "I use Zed."),
    ("I use Vim.", "I replaced Vim with Zed last week.", "I use Zed."),
    ("My boss is Karen.", "Karen was replaced by Tom.", "My boss is Tom."),
    ("My boss is Karen.", "Karen left; Tom is my manager now.", "Tom is my manager now."),
    ("I drive a Skoda Octavia.", "I traded the Skoda for a Volvo.", "Volvo"),
    ("I have a MacBook.", "I swapped my MacBook for an Acer.", "I have an Acer."),
    ("Ich nutze Vim.", "Ich bin von Vim auf Zed umgestiegen.", "Ich nutze Zed."),
    ("J'utilise Firefox.", "Je suis passé de Firefox à Chrome.", "J'utilise Chrome."),
    ("Uso Gmail.", "He cambiado Gmail por Proton.", "Uso Proton."),
    ("I work from home.", "I'm back in the office five days a week now.", "office"),
    ("I bank with Barclays.", "I closed my Barclays account and went to Monzo.", "Monzo"),
    ("I weigh 82 kilos.", "I'm down to 78 kilos.", "78"),
    ("I'm on the night shift.", "They put me on days from this week.", "days"),
    ("I eat meat.", "I became vegetarian in January.", "vegetarian"),
    ("I use Python 3.10 at work.", "We upgraded to Python 3.12 at work.", "Python 3.12"),
    ("My standup is at 9:30.", "Standup moved to 10.", "10"),
    ("My daughter is 5.", "My daughter just turned 6.", "6"),
    ("Our backend is written in Django.", "We rewrote the backend in FastAPI.", "FastAPI"),
    ("We live on the third floor.", "We moved down to the ground floor.", "ground floor"),
    ("I use Windows.", "I'm on Linux now.", "Linux"),
    ("My laptop is a Dell.", "The Dell died, I got a MacBook.", "MacBook"),
    ("My landlord is Frank.", "The house was sold, the new landlord is called Doris.", "Doris"),
    ("I study chemistry.", "I switched my major to physics.", "physics"),
    (
        "My phone is a Pixel 7.",
        "I dropped my Pixel and replaced it with an iPhone 15.",
        "iPhone 15",
    ),
    ("My subscription is the Pro plan.", "I downgraded to the free plan.", "free plan"),
    ("The office is on the 4th floor.", "We moved to the 9th floor.", "on the 9th floor"),
    ("I'm using dark mode.", "Switch me to light mode, dark hurts my eyes.", "light mode"),
    ("My laptop runs Ubuntu.", "I wiped Ubuntu and put Fedora on my laptop.", "Fedora"),
    ("My car insurance is with Allianz.", "I switched my car insurance to HUK.", "HUK"),
    ("My salary is 60k.", "I got a raise to 66k.", "66k"),
    ("I live at 12 Oak Street.", "Our new address is 7 Elm Road.", "7 Elm Road"),
    ("I usually get up at 6.", "I get up at 7:30 these days.", "7:30"),
    (
        "My project is due on Friday.",
        "The deadline for my project was extended to 9 June.",
        "9 June",
    ),
    (
        "The wedding is on 5 June.",
        "We had to postpone the wedding to 12 September.",
        "12 September",
    ),
    ("I go to the gym every Tuesday.", "The gym is Thursdays now.", "every Thursday."),
    ("Tomo té por la mañana.", "Perdón, café, no té.", "Tomo café"),
    ("My order was tea.", "coffee, no tea", "coffee"),
    ("I can't eat gluten.", "My new tests show I can eat gluten again.", "can eat gluten again"),
    ("I don't drink coffee.", "I've started drinking coffee.", "started drinking coffee"),
    ("My mum lives in Leeds.", "Mum's moved to York to be closer to us.", "York"),
    (
        "Mein Gehalt ist 50.000 Euro.",
        "Ich habe eine Gehaltserhöhung auf 55.000 Euro bekommen.",
        "55",
    ),
    (
        "Der Termin beim Friseur ist am Dienstag.",
        "Der Friseurtermin wurde auf Mittwoch verschoben.",
        "Mittwoch",
    ),
    (
        "Mon rendez-vous chez le dentiste est lundi à 10 h.",
        "Le rendez-vous chez le dentiste a été déplacé à mardi.",
        "mardi",
    ),
]
ENDS = [
    ("I'm vegan.", "I haven't been vegan since May."),
    ("I smoke.", "I haven't smoked since May."),
    ("Ich bin Veganerin.", "Ich bin seit Mai keine Veganerin mehr."),
    ("Ich rauche.", "Seit Mai rauche ich nicht mehr."),
    ("Je suis végane.", "Je ne suis plus végane depuis mai."),
    ("I have a Toyota.", "We sold the car."),
    ("Ich habe einen Golf.", "Wir haben das Auto verkauft."),
    ("J'ai une Clio.", "J'ai vendu la voiture."),
    ("Tengo un Seat Ibiza.", "He vendido el coche."),
    ("My boyfriend is Chris.", "My boyfriend and I broke up."),
    ("I have a dentist appointment.", "The dentist cancelled the appointment."),
    ("I have a gym membership.", "I cancelled my gym membership today."),
    ("I'm learning Italian.", "I dropped the Italian course."),
    ("I drive a Skoda Octavia.", "The Skoda went to the scrapyard last week."),
    ("I have braces.", "My braces came off today!"),
    ("I want to buy a house.", "We decided against buying a house."),
    ("I have an appointment with Dr. Klein on Thursday.", "Her office cancelled my appointment."),
    ("I'm in the middle of a divorce.", "The divorce is final."),
    ("I'm staying at my sister's.", "I've moved out of my sister's place."),
    ("I'm reading Dune.", "Finished Dune last night."),
    ("I need to finish the report by Friday.", "I finished the report."),
    ("I need to buy milk.", "I bought the milk."),
    ("I'm studying for the bar exam.", "I passed the bar exam!"),
    ("I'm working on the billing feature.", "The billing feature shipped."),
    ("I'm in Berlin this week.", "I'm back home from Berlin."),
    ("I wear glasses.", "I had laser surgery, no glasses needed any more."),
    ("I live alone.", "My boyfriend moved in with me."),
    ("I'm in the rowing club.", "I left the rowing club because my shoulder couldn't take it."),
    ("Ich habe ein Tagesgeldkonto bei der ING.", "Das Konto bei der ING ist aufgelöst."),
    ("Je suis bénévole à la banque alimentaire.", "J'ai arrêté le bénévolat."),
    ("Je vais au bureau avec mon scooter.", "Mon scooter, je l'ai revendu à un collègue."),
    ("Remind me to call the plumber.", "I already called the plumber, no need to remind me."),
    ("I'm the treasurer of our club.", "Someone else took over as treasurer in May."),
    ("I take vitamin D every day.", "I stopped the vitamin D."),
    ("My manager is on parental leave.", "My manager is back from leave."),
    ("I'm studying physics in Heidelberg.", "I dropped out of university."),
    ("I am pregnant, due in April.", "Our baby boy was born yesterday, we called him Leo."),
    ("I have an appointment with Dr. Li.", "Dr. Li's office cancelled the appointment."),
    ("I owe Mark 50 euros.", "I paid Mark back."),
    ("My laptop is broken.", "My laptop is fixed."),
    ("I'm waiting for my visa.", "My visa came through!"),
    ("My in-laws are visiting until Sunday.", "My in-laws left a day early."),
    ("I have a cold.", "I'm over my cold."),
    ("I'm vegan.", "I eat fish and eggs again."),
    ("Erinnere mich daran, den Klempner anzurufen.", "Ich habe den Klempner schon angerufen."),
    ("Rappelle-moi d'appeler le plombier lundi.", "J'ai déjà appelé le plombier."),
    ("Recuérdame llamar al fontanero el lunes.", "Ya he llamado al fontanero."),
    ("Mein Laptop ist kaputt.", "Mein Laptop ist repariert."),
    ("Ma voiture est en panne.", "Ma voiture est réparée."),
    ("Mi lavadora está rota.", "Mi lavadora ya funciona."),
    ("Fumo medio paquete al día.", "Llevo un mes sin fumar, lo he dejado del todo."),
]
LEFT = [
    ("I have 10 goats and 200 sheep.", "I sold the goats.", "I have 200 sheep."),
    ("I have a dog and 2 cats.", "My dog died.", "I have 2 cats."),
    ("I play the guitar and the piano.", "I gave up the guitar.", "I play the piano."),
    ("I take metformin and ramipril every morning.", "I've stopped taking ramipril.",
     "I take metformin every morning."),
    ("We have two cats, Momo and Pia.", "Momo died last week.", "We have one cat, Pia."),
    ("I have three kids, Tom, Ann and Lea.", "Ann died.", "I have two kids, Tom and Lea."),
    ("I subscribe to Netflix, Spotify and the Guardian.", "I cancelled the Guardian.",
     "I subscribe to Netflix and Spotify."),
    ("I subscribe to Netflix, Spotify and the Guardian.", "I cancelled Spotify.",
     "I subscribe to Netflix and the Guardian."),
    ("My hobbies are climbing, chess and baking.", "I've given up climbing.",
     "My hobbies are chess and baking."),
    ("I'm learning Spanish and Italian.", "I've stopped learning Spanish.",
     "I'm learning Italian."),
    ("I own a dog called Rex and a cat called Tom.", "The dog died.", "I own a cat called Tom."),
    ("We rent a flat in Leeds and a cottage in Wales.", "We gave up the cottage.",
     "We rent a flat in Leeds."),
    ("I have a Barclays account and a Monzo account.", "I closed the Barclays account.",
     "I have a Monzo account."),
    ("I have a Tesla and my wife drives a Golf.", "I sold the Tesla.", "My wife drives a Golf."),
    ("I live with my husband and our two sons.", "My husband died.", "I live with our two sons."),
    ("I play guitar and sing in a choir.", "I gave up the guitar.", "I sing in a choir."),
    ("I have a dog called Rex and a cat called Tom.", "Rex died.", "I have a cat called Tom."),
    ("I need to buy milk and eggs.", "I bought the milk.", "I need to buy eggs."),
    ("Ich habe einen Hund und eine Katze.", "Die Katze ist gestorben.", "Ich habe einen Hund."),
    ("J'apprends l'espagnol et l'italien.", "J'ai arrêté l'espagnol.", "J'apprends l'italien."),
    ("Toco la guitarra y el piano.", "He dejado la guitarra.", "Toco el piano."),
]  # fmt: skip
BESIDE = [
    ("I have 2 kids and 1 dog.", "It's three kids now.", "I have 1 dog."),
    ("We have 3 bedrooms and 2 bathrooms.", "We have 3 bathrooms now.", "We have 3 bedrooms."),
    ("We have two cats and three hens.", "We've got four hens now.", "We have two cats."),
    ("Ich habe zwei Kinder und einen Hund.", "Wir haben jetzt drei Kinder.", "Ich habe einen Hund."),
    ("J'ai deux chats et un chien.", "J'ai trois chats maintenant.", "J'ai un chien."),
]  # fmt: skip

ENDS_WHOLLY = [
    ("I take 2 tablets in the morning and one at night.", "I stopped the night tablet."),
    ("We have a cat, Momo, and a dog, Rex.", "Momo died."),
    ("I take ramipril every morning.", "The doctor has taken me off ramipril."),
    ("Estoy suscrito a El Norte, la edición en papel.", "Me di de baja de El Norte."),
]
STAYS = [
    ("I live in Paris.", "I haven't been to Paris since May."),
    (
        "My flight to Oslo leaves at 9:40.",
        "I looked again and my flight to Oslo does leave at 9:40.",
    ),
    ("I'm dating Chris.", "My best friend and her boyfriend broke up."),
    ("I take the bus to work.", "The bus was cancelled today."),
    ("I have a yoga class on Mondays.", "Yoga was cancelled today."),
    ("Je prends le bus pour aller au travail.", "Le bus a été annulé aujourd'hui."),
    ("I use Windows at work.", "I use Linux at home."),
    ("J'utilise Windows au travail.", "J'utilise Linux à la maison."),
    ("Je bois du café le matin.", "Je bois du thé le soir."),
    ("Because of Rex I get up at six.", "Rex died."),
    ("I get a 10% discount because I work at Tesco.", "I quit."),
    ("Since I live in Leeds, I pay 12 pounds for the train.", "I moved to York."),
    ("My car is a Golf.", "I sold it."),
    ("I use Vim.", "My brother switched from Vim to Zed."),
    ("I use Vim.", "I wouldn't switch from Vim to Zed."),
    ("My sister lives in Ghent.", "I moved from Ghent to Bruges."),
    ("I live in Berlin.", "I'm back home from Berlin Zoo."),
    ("I have to call the plumber.", "I paid the plumber."),
    ("I love Italian food.", "I dropped the Italian course."),
    ("I work from home.", "I'm in the office today."),
    ("I play tennis.", "If I left the tennis club, I could run."),
    ("I like dark mode.", "My brother switched to light mode."),
    ("The office is on the 4th floor.", "We visited a flat on the 9th floor."),
    ("I use the free plan.", "My boss moved to the Pro plan."),
    ("Remind me to call the plumber on Monday.", "I called my mum."),
    ("I take vitamin D every day.", "I stopped the car at the lights."),
    ("My manager is on parental leave.", "My colleague is back from leave."),
    ("I'm the treasurer of our club.", "Lena took over as secretary."),
    ("My salary is 60k.", "My boss got a raise to 90k."),
    ("I have a new car.", "My car is fixed."),
    ("I like my in-laws.", "My in-laws left a day early."),
    ("My son lost his coat.", "The school emailed back, no coat."),
    ("I have a coat.", "I looked everywhere, no coat."),
    ("I like tea.", "instead of tea he drank coffee"),
    ("J'ai un manteau.", "j'ai cherché partout, pas de manteau"),
    ("My rent is 900 euros.", "My sister's rent was raised to 990 euros."),
    ("Ich zahle 780 Euro Miete.", "Bei meiner Freundin ist die Miete erhöht worden, auf 835 Euro."),
    ("Mi talla de camisa es la M.", "Me equivoqué con la talla de mi padre, usa la L."),
    ("La cena de empresa es el viernes 12.", "Han cambiado la cena de antiguos alumnos al jueves."),
]


@pytest.mark.parametrize(("before", "now", "known"), CHANGES)
def test_the_new_value_replaces_the_old_one(before: str, now: str, known: str) -> None:
    believed = current(told(before, now))
    assert before not in believed
    assert any(known in content for content in believed)


@pytest.mark.parametrize(("before", "now"), ENDS)
def test_what_is_over_is_not_believed(before: str, now: str) -> None:
    assert before not in current(told(before, now))


@pytest.mark.parametrize(("before", "now"), STAYS)
def test_what_is_said_of_something_else_changes_nothing(before: str, now: str) -> None:
    assert before in current(told(before, now))


@pytest.mark.parametrize(("before", "now", "left"), LEFT + BESIDE)
def test_an_end_or_a_new_value_of_one_of_several_things_leaves_the_others(
    before: str, now: str, left: str
) -> None:
    believed = current(told(before, now))
    assert left in believed
    assert before not in believed


@pytest.mark.parametrize(("before", "now"), ENDS_WHOLLY)
def test_a_statement_ends_wholly_if_it_is_not_clear_what_is_left(before: str, now: str) -> None:
    assert current(told(before, now)) == set()


def test_it_means_what_the_sentence_before_names() -> None:
    assert current(told("My car is a Golf. I sold it.")) == set()
    assert current(told("My car is a Golf. I love it.")) == {"My car is a Golf."}
    assert current(told("I sold it.")) == set()


@pytest.mark.parametrize("text", ["I see Dr Patel for my teeth.", "I'm with O2 now."])
def test_short_names_and_people_whom_the_user_sees_are_remembered(text: str) -> None:
    assert current(told(text)) == {text}
    assert current(told("I see your point, thanks.")) == set()
