"""How much CPU it takes to read, check and state what small messages say."""

from __future__ import annotations

from tests.unit.extraction.test_skipped_patterns import extracted
from tests.unit.splits import small_messages, splits

MOST_SPLITS = 650
"""240 to 350 were measured on three machines, with busy processes beside it, and 471 on a fourth with
two processes a core.
"""


def test_small_messages_are_extracted_in_what_a_few_hundred_splits_into_words_take() -> None:
    assert splits(lambda: extracted(small_messages())) < MOST_SPLITS
