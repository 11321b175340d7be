"""Measures recall beside the memories that extraction makes of the messages, as users have it.

python -m benchmarks.retrieval.extracted [--set FOLDER]...
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, timedelta
from pathlib import Path
from statistics import fmean

from palimpsest.api.resources.messages.shapes import AppendRequest
from palimpsest.clock import FakeClock
from palimpsest.models.ports import Embedder, Reranker
from palimpsest_local.in_process import in_process, within
from palimpsest_local.stores.state import State

from benchmarks.report import Cell, Table, for_terminal
from benchmarks.retrieval.labelled.dataset import OUR_SETS, Dataset, load
from benchmarks.retrieval.place import TENANT, Found, Place, filled
from benchmarks.retrieval.ranking.asked import built_in_models
from benchmarks.retrieval.scores import recall_of, reciprocal_rank

AT_ONCE = 20  # messages of one append
FIRST = 10
COLUMNS = ("set", "memories", "recall@10", "MRR", "records among ten", "repeated among ten")


def extracted(dataset: Dataset, *, embedder: Embedder, reranker: Reranker) -> Place:
    """Return a place that holds a set together with what is extracted from it without a model. All
    messages are appended a day after the last one, as an import appends them.
    """
    last = max(session.messages[-1].timestamp for session in dataset.sessions())
    state = State()
    own = within(state)
    service = in_process(
        TENANT,
        memory={},
        clock=FakeClock(last.astimezone(UTC) + timedelta(days=1)),
        embedder=embedder,
        own=own,
    )
    index = service.service.stores.index()
    stores = (own.sessions, own.memories)
    place = Place(dataset, index=index, embedder=embedder, stores=stores, reranker=reranker)
    for session in sorted(dataset.sessions(), key=lambda session: session.messages[-1].timestamp):
        messages = [
            {**message.chat, "timestamp": message.timestamp.isoformat()}
            for message in session.messages
        ]
        for start in range(0, len(messages), AT_ONCE):
            body = {"user_id": session.user, "messages": messages[start : start + AT_ONCE]}
            request = AppendRequest.model_validate(body)
            where = TENANT.session(session.id)
            service.service.append(where, request.messages, user=session.user, extract="now")
            service.work()
        place.name_stored(session)
    return place


def measured(place: Place) -> list[Cell]:
    """Return recall@10, the mean reciprocal rank, and how many of the first ten are records, and
    say only what a better one says.
    """
    shares, ranks, records, repeated = [], [], [], []
    for question in place.dataset.questions:
        if not question.evidence:
            continue
        first = place.recall(question.user, question.question)[:FIRST]
        shares.append(recall_of(question, first))
        ranks.append(reciprocal_rank(question, first))
        records.append(sum(result.is_record for result in first))
        repeated.append(_repeated(first))
    return [
        f"{fmean(shares):.3f}",
        f"{fmean(ranks):.3f}",
        f"{fmean(records):.2f}",
        f"{fmean(repeated):.2f}",
    ]


def _repeated(rows: Sequence[Found]) -> int:
    """Return how many results rest only on messages of better ones."""
    seen: set[str] = set()
    count = 0
    for result in rows:
        count += seen.issuperset(result.messages)
        seen.update(result.messages)
    return count


def table(paths: Sequence[Path]) -> Table:
    embedder, reranker = built_in_models()
    rows: list[list[Cell]] = []
    for path in paths:
        dataset = load(path)
        with filled(dataset, embedder=embedder, reranker=reranker) as place:
            rows.append([dataset.name, "as labelled", *measured(place)])
        place = extracted(dataset, embedder=embedder, reranker=reranker)
        rows.append([dataset.name, "extracted", *measured(place)])
    return Table("Recall beside extracted memories", COLUMNS, rows, ())


def main() -> None:
    asking = argparse.ArgumentParser(description=__doc__)
    asking.add_argument("--set", action="append", type=Path, dest="sets")
    print(for_terminal(table(asking.parse_args().sets or OUR_SETS)))


if __name__ == "__main__":
    main()
