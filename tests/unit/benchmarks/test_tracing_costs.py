"""The page about the cost of traces is what the benchmark writes."""

from palimpsest import tracing

from benchmarks.load.tracing import PAGE, Costs, measured, page


def test_the_benchmark_measures_all_three_costs_and_leaves_traces_off() -> None:
    costs = measured(spans_off=100, spans_on=100, rounds=1)
    assert min(costs.span_off, costs.span_on, costs.loading) > 0
    assert not tracing.is_on()


def test_the_page_has_the_rows_and_the_words_of_the_benchmark() -> None:
    said = PAGE.read_text().splitlines()
    written = page(Costs(0.0, 0.0, 0.0)).splitlines()
    assert [line.split("|")[:2] for line in said if "rounds." not in line] == [
        line.split("|")[:2] for line in written if "rounds." not in line
    ]
