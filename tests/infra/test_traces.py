"""A stack that traces has a layer for it, and roles that may send spans; any other has neither."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra import layer_build
from infra.layer_build import ON_AWS
from infra.traces import UNTRACED, traces_of
from tests.infra.conftest import COLLECTOR, Template, findings_of, of_one_stage
from tests.infra.test_layers import LIMIT, unzipped

LAYERS = 5  # of a function, at most


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Template:
    folder = tmp_path_factory.mktemp("cdk.out")
    return of_one_stage(folder, "dev", traces="xray", traces_share="0.1")


def test_functions_that_read_conversations_send_spans_and_may_do_so(traced: Template) -> None:
    for name, function in traced.functions().items():
        told = function["Environment"]["Variables"]
        may_send = any(
            "xray:PutSpans" in statement["Action"] for statement in traced.statements(name)
        )
        if name in UNTRACED:
            assert told["TRACES_ENDPOINT"] == ""
            assert not may_send
        else:
            assert "xray" in str(told["TRACES_ENDPOINT"])
            assert told["TRACES_SHARE"] == "0.1"
            assert may_send
        assert len(function["Layers"]) < LAYERS, name
    assert findings_of(traced.path.parent) == []


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Template:
    sink = "http://localhost:4318/v1/traces"
    folder = tmp_path_factory.mktemp("cdk.out")
    return of_one_stage(folder, "dev", traces=sink, traces_layer=COLLECTOR)


def test_a_collector_beside_each_function_leaves_them_the_layers_that_lambda_allows(
    collected: Template,
) -> None:
    for name, function in collected.functions().items():
        assert len(function["Layers"]) <= LAYERS, name
        assert (COLLECTOR in function["Layers"]) == (name not in UNTRACED)


def test_a_stack_that_does_not_trace_has_no_layer_for_it(prod: Template) -> None:
    plain = layer_build.build("runtime", ON_AWS).folder
    assert not (plain / "python" / "opentelemetry").exists()
    assert str(plain) in {asset["path"] for asset in assets(prod)}
    for name, function in prod.functions().items():
        assert function["Environment"]["Variables"]["TRACES_ENDPOINT"] == ""
        assert not any("xray" in str(statement["Action"]) for statement in prod.statements(name))


def test_the_library_of_traces_is_in_the_layer_of_every_function(traced: Template) -> None:
    (together,) = {path for asset in assets(traced) if "traces" in (path := asset["path"])}
    assert (Path(together) / "python" / "opentelemetry" / "sdk").is_dir()
    assert (Path(together) / "python" / "pydantic").is_dir()


def assets(template: Template) -> list[dict[str, str]]:
    """The files of a stack's layers and functions, where they are on this machine."""
    manifest = template.path.with_name(template.path.name.replace(".template", ".assets"))
    return [asset["source"] for asset in json.loads(manifest.read_text())["files"].values()]


def test_the_function_with_most_layers_has_room_for_traces() -> None:
    core = layer_build.build_core(ON_AWS).folder
    library = sum(path.stat().st_size for path in core.rglob("*") if path.is_file())
    everything = unzipped("runtime", "models", "builtin", "graph", "traces") + library
    assert everything < LIMIT * 0.91


@pytest.mark.parametrize(
    "sink", ["", "xray", "https://otel.example/v1/traces", "http://localhost:4318/v1/traces"]
)
def test_spans_go_to_xray_or_to_a_collector(sink: str) -> None:
    assert traces_of({"traces": sink, "traces_layer": COLLECTOR}.get).sink == sink


@pytest.mark.parametrize(
    "context",
    [
        {"traces": "jaeger"},
        {"traces": "http://otel.example"},
        {"traces": "http://localhost.example/v1/traces"},
        {"traces_share": "2"},
        {"traces_share": "all"},
    ],
)
def test_what_is_no_collector_and_no_share_is_refused(context: dict[str, str]) -> None:
    with pytest.raises(SystemExit):
        traces_of(context.get)
