"""What rests on a fact, without a model: on this set at most one in twenty is marked falsely."""

from __future__ import annotations

from datetime import UTC, datetime

from palimpsest.api.resources.messages.shapes import AppendRequest
from palimpsest.clock import FakeClock
from palimpsest.memory.filters import MemoryFilter
from palimpsest.scope import Scope
from palimpsest_local.in_process import in_process

TENANT = Scope("acme")
SARAH = TENANT.user("sarah")
NO_MORE_THAN = 0.05  # of the twins may be marked
AT_LEAST = 0.9  # of those that rest on the ground must be

HAMBURG, BREMEN = "I live in Hamburg.", "I moved to Bremen."
ACME, GLOBEX = "I work at Acme.", "I work at Globex now."
WOHNE, ZOG = "Ich wohne in Hamburg.", "Ich wohne jetzt in Bremen."
LYON, NICE = "J'habite à Lyon.", "J'habite maintenant à Nice."
LUGO, VIGO = "Vivo en Lugo.", "Ahora vivo en Vigo."
CASES = (
    # a ground, what takes its place, what rests on it, its twin
    (HAMBURG, BREMEN, "My commute from Hamburg takes 20 minutes.", "My uncle was born in Hamburg."),
    (HAMBURG, BREMEN, "Our flat in Hamburg costs 1200 euros.", "I love the harbour of Hamburg."),
    (HAMBURG, BREMEN, "My landlord in Hamburg is called Mr. Meier.", "I grew up in Hamburg."),
    (HAMBURG, BREMEN, "I pay 900 euros of rent in Hamburg.", "I studied physics in Hamburg."),
    (HAMBURG, BREMEN, "My gym in Hamburg opens at six.", "My favorite team plays in Hamburg."),
    (
        HAMBURG,
        BREMEN,
        "I cycle to work from Hamburg every day.",
        "My sister's flat in Hamburg is big.",
    ),
    (HAMBURG, BREMEN, "I take the train to work from Hamburg.", "I was born in Hamburg in 1990."),
    (ACME, GLOBEX, "My boss at Acme is Tom Reed.", "My brother has shares of Acme."),
    (ACME, GLOBEX, "My desk at Acme is on floor 3.", "I hate the printers of Acme."),
    (ACME, GLOBEX, "I lead the data team at Acme.", "My neighbour sells to Acme."),
    (ACME, GLOBEX, "Our canteen at Acme is vegan.", "I met my wife at Acme."),
    (ACME, GLOBEX, "I earn 70,000 euros at Acme.", "I bought my fridge at Acme."),
    (WOHNE, ZOG, "Mein Arbeitsweg von Hamburg dauert 20 Minuten.", "Ich bin in Hamburg geboren."),
    (WOHNE, ZOG, "Meine Miete in Hamburg beträgt 900 Euro.", "Meine Tante liebt Hamburg."),
    (WOHNE, ZOG, "Mein Zahnarzt in Hamburg heißt Krause.", "Ich mag den Hafen von Hamburg."),
    (LYON, NICE, "Mon trajet depuis Lyon dure 20 minutes.", "Ma tante adore Lyon."),
    (LYON, NICE, "Mon loyer à Lyon est de 900 euros.", "Je suis né à Lyon."),
    (LYON, NICE, "Ma salle de sport à Lyon ouvre à six heures.", "J'aime les quais de Lyon."),
    (LUGO, VIGO, "Mi alquiler en Lugo es de 500 euros.", "Mi tía nació en Lugo."),
    (LUGO, VIGO, "Mi gimnasio en Lugo abre a las seis.", "Me gusta la muralla de Lugo."),
)


def is_marked(ground: str, fact: str, later: str) -> bool | None:
    """Whether the fact is marked once something else has taken the place of its ground; None if it
    is not remembered at all.
    """
    clock = FakeClock(datetime(2026, 3, 2, 9, tzinfo=UTC))
    here = in_process(TENANT, memory={}, clock=clock)
    for number, text in enumerate((ground, fact, later)):
        body = {"user_id": "sarah", "messages": [{"role": "user", "content": text}]}
        drafts = AppendRequest.model_validate(body).messages
        session = TENANT.session(f"s{number}")
        here.service.append(session, drafts, user="sarah", extract="now")
        here.work()
        clock.advance(24 * 3600)
    found, _ = here.service.show.listed(
        SARAH, where=MemoryFilter(), limit=100, after=None, newest_first=True
    )
    marked = {each.record.content: each.rests_on_changed for each in found}
    assert all(not marked[each] for each in (ground, later) if each in marked)
    return marked.get(fact)


def test_the_set_has_forty_cases() -> None:
    assert len(CASES) == 20
    assert len({fact for _, _, *facts in CASES for fact in facts}) == 40


def test_what_rests_on_a_fact_is_marked_when_that_changes() -> None:
    marked = {fact: is_marked(ground, fact, later) for ground, later, fact, _ in CASES}
    missed = [fact for fact, is_so in marked.items() if not is_so]
    assert len(CASES) - len(missed) >= AT_LEAST * len(CASES), missed


def test_what_only_names_the_same_place_or_company_is_not_marked() -> None:
    marked = [twin for ground, later, _, twin in CASES if is_marked(ground, twin, later)]
    assert len(marked) <= NO_MORE_THAN * len(CASES), marked


def test_nothing_is_marked_while_its_ground_holds() -> None:
    for ground, _, fact, _ in CASES[::4]:
        assert is_marked(ground, fact, "I like tea.") is False


def test_a_clause_that_says_because_names_the_ground() -> None:
    assert is_marked(ACME, "I get a 10% discount because I work at Acme.", GLOBEX)
    assert is_marked(HAMBURG, "Since I live in Hamburg, I pay 12 euros for the train.", BREMEN)
    assert is_marked(WOHNE, "Weil ich in Hamburg wohne, segle ich viel.", ZOG)
    assert is_marked(HAMBURG, "I get a 10% discount because I work at Acme.", BREMEN) is False
