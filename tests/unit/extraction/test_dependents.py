"""On which topics a finding may rest: a model names them, its kind or its relations show them."""

from palimpsest.extraction.finding import Finding
from palimpsest.extraction.resting import dependent_of
from palimpsest.graph.things import Relation
from palimpsest.memory.grounds import names_value_of
from palimpsest.memory.resting import Dependent


def found(content: str, **more: object) -> Dependent:
    return dependent_of(Finding("fact", content, (1,), content, **more))  # type: ignore[arg-type]


def test_a_model_names_the_topics_and_never_its_own() -> None:
    given = found(
        "The user needs 20 minutes to work.", rests_on=("Residence", "commute"), topic="commute"
    )
    assert given.sure == ("residence",)
    of_bob = found("Bob: needs 20 minutes.", rests_on=("residence",), speaker="Bob")
    assert of_bob.sure == ("bob_residence",)


def test_the_kind_of_a_fact_shows_the_topics() -> None:
    assert found("My rent in Kiel is 900 euros.").likely == ("residence", "employer")
    assert found("My boss at Acme is Tom.", subject="boss").likely == ("employer",)
    assert found("Bob's rent in Kiel is 900 euros.", subject="bob").likely == ()
    assert found("My sister's rent in Kiel is 900 euros.").likely == ()
    assert found("My rent in Kiel was 900 euros.").likely == ()


def test_a_thing_of_the_user_at_a_place_may_rest_on_where_the_user_lives() -> None:
    gym = Relation("FitGym", "Gym", "LOCATED_IN", "Hamburg", "City")
    assert set(found("The user trains at FitGym.", relations=(gym,)).likely) == {
        "residence",
        "employer",
    }
    tom = Relation("Tom", "Person", "LIVES_IN", "Hamburg", "City")
    assert found("Tom lives in Hamburg.", relations=(tom,)).likely == ()


def test_a_value_is_named_as_a_whole_word() -> None:
    assert names_value_of("My rent in Kiel is high.", "I live in Kiel.")
    assert names_value_of("Kiel's rents are high.", "i live in kiel")
    assert not names_value_of("My rent in Kielce is high.", "I live in Kiel.")
