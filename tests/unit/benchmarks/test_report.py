"""Results of some parts take the place of what stood there of them; nothing else moves."""

from benchmarks.report import amended

RESULTS = "# Results\n\nIntro.\n\n## One\n\n| a |\n\n## Two\n\n- note\n"


def test_a_part_that_is_measured_again_takes_its_own_place() -> None:
    assert (
        amended(RESULTS, {"One": "## One\n\n| b |\n"}) == "# Results\n\nIntro.\n\n## One\n\n| b |\n\n## Two\n\n- note\n"
    )


def test_a_new_part_comes_last() -> None:
    assert amended(RESULTS, {"Three": "## Three\n"}).endswith("## Two\n\n- note\n\n## Three\n")
