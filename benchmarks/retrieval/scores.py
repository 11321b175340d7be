"""Scores of how well questions were answered: recall, reciprocal rank, new values before old ones,
and silence on unanswerable questions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from benchmarks.retrieval.labelled.dataset import Dataset, Question, Supersession
from benchmarks.retrieval.place import Found

KS = (5, 10, 20)
STALE_WITHIN = 5
ANOTHER = "another"

Ask = Callable[[str, str], Sequence[Found]]
"""Returns the results for a user's question, best first."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Means over questions.

    `recall` is, for each k, the share of a question's evidence among the first k results. `mrr` is
    the mean reciprocal rank of the first result that is evidence. For supersessions, `new_first` is
    how often the new statement came before every old one where records hold both, and
    `new_first_told` where only messages do. `stale_records` is how often a record stated an old
    value as valid. `stale_messages` is how often one of the first five messages did, without being
    marked as outdated. `silent` is the share of unanswerable questions without a result, and `lost`
    is that of answerable questions.
    """

    recall: Mapping[int, float]
    mrr: float
    new_first: float
    new_first_told: float
    stale_records: float
    stale_messages: float
    silent: float
    lost: float


def scored(dataset: Dataset, ask: Ask) -> Scores:
    """Ask every question and return the scores."""
    results_by_question = {
        question.id: ask(question.user, question.question) for question in dataset.questions
    }
    answerable = [question for question in dataset.questions if question.evidence]
    unanswerable = [question for question in dataset.questions if not question.evidence]
    changed = [
        (supersession, ask(supersession.user, supersession.question))
        for supersession in dataset.supersessions
    ]
    return Scores(
        recall={
            k: _mean(
                [
                    recall_of(question, results_by_question[question.id][:k])
                    for question in answerable
                ]
            )
            for k in KS
        },
        mrr=_mean(
            [reciprocal_rank(question, results_by_question[question.id]) for question in answerable]
        ),
        new_first=_mean(
            [
                _new_first(change, results)
                for change, results in changed
                if change.told_in == "records"
            ]
        ),
        new_first_told=_mean(
            [
                _new_first(change, results)
                for change, results in changed
                if change.told_in == "messages"
            ]
        ),
        stale_records=_mean(
            [
                any(result.is_record and _is_stale(change, result) for result in rs)
                for change, rs in changed
            ]
        ),
        stale_messages=_mean([_leaks(change, results) for change, results in changed]),
        silent=_mean([not results_by_question[question.id] for question in unanswerable]),
        lost=_mean([not results_by_question[question.id] for question in answerable]),
    )


@dataclass(frozen=True, slots=True)
class InLanguage:
    """Recall@10 and the mean reciprocal rank of so many `questions`."""

    questions: int
    recall: float
    mrr: float


def by_language(dataset: Dataset, ask: Ask) -> Mapping[str, InLanguage]:
    """Return the scores of the questions that have an answer, by the language in which they are
    asked, and of those asked in another language than the answer (`another`).
    """
    judged = defaultdict(list)
    for question in dataset.questions:
        if question.evidence:
            results = ask(question.user, question.question)
            scores = recall_of(question, results[:10]), reciprocal_rank(question, results)
            for name in (question.language, *([ANOTHER] if question.cross_lingual else ())):
                judged[name].append(scores)
    return {
        name: InLanguage(len(scores), *map(fmean, zip(*scores, strict=True)))
        for name, scores in judged.items()
    }


Cite = Callable[[str, str], Collection[str] | None]
"""Returns the messages that the answer to a user's question cites, or None if it is empty."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Shares of answers. `right` cite evidence of questions that have an answer, and `empty` are
    empty there. `spoke` are not empty where nothing answers. Of the questions about changes, `new`
    cite the new statement, and `old` only an old one.
    """

    right: float
    empty: float
    spoke: float
    new: float
    old: float


def answered(dataset: Dataset, cite: Cite) -> Answers:
    """Return how well the questions of a set are answered, by what the answers cite."""
    answers = [(question, cite(question.user, question.question)) for question in dataset.questions]
    known = [(question, cited) for question, cited in answers if question.evidence]
    changed = [
        (change, frozenset(cite(change.user, change.question) or ()))
        for change in dataset.supersessions
    ]
    is_new = [change.new.message in cited for change, cited in changed]
    is_old = [any(old.message in cited for old in change.stale) for change, cited in changed]
    return Answers(
        right=_mean(
            [not set(question.answer_ids).isdisjoint(cited or ()) for question, cited in known]
        ),
        empty=_mean([cited is None for _, cited in known]),
        spoke=_mean([cited is not None for question, cited in answers if not question.evidence]),
        new=_mean(is_new),
        old=_mean([old and not new for old, new in zip(is_old, is_new, strict=True)]),
    )


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else 0.0


def recall_of(question: Question, results: Sequence[Found]) -> float:
    """Return the share of the evidence that was found. It is a half if one of two messages was
    found.
    """
    messages = {message for result in results for message in result.messages}
    return len(messages.intersection(question.answer_ids)) / len(question.answer_ids)


def reciprocal_rank(question: Question, results: Sequence[Found]) -> float:
    places = (
        place
        for place, result in enumerate(results, 1)
        if not set(result.messages).isdisjoint(question.answer_ids)
    )
    return next((1 / place for place in places), 0.0)


def _new_first(supersession: Supersession, results: Sequence[Found]) -> bool:
    """Return whether the new statement was found, and before every old statement that is
    wrong now.
    """
    firsts = (
        result
        for result in results
        if supersession.new.message in result.messages or _is_stale(supersession, result)
    )
    first = next(firsts, None)
    return first is not None and supersession.new.message in first.messages


def _is_stale(supersession: Supersession, result: Found) -> bool:
    return any(old.message in result.messages for old in supersession.stale)


def _leaks(supersession: Supersession, results: Sequence[Found]) -> bool:
    outdated = (
        result
        for result in results[:STALE_WITHIN]
        if not result.is_record and not result.is_outdated
    )
    return any(_is_stale(supersession, result) for result in outdated)
