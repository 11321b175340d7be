import os
import re
import subprocess
from importlib import metadata
from pathlib import Path
from zipfile import ZipFile

import pytest
from palimpsest_graph.ladybug.process import PACKED

from benchmarks.load.sizes import whole
from infra import layer_build, paths, pythons
from infra.layer_build import ON_AWS, Wheels, on_this_machine
from tests.documents.test_figures import note

LIMIT = 250 * 1024 * 1024  # of a function with all its layers, unzipped (Lambda)
ALL = ("runtime", "models", "builtin", "graph")
EMBED = """
from importlib.util import find_spec
from pathlib import Path
from palimpsest.models.builtin import SPACE, BuiltinEmbedder
(folder,) = find_spec("builtin_models").submodule_search_locations
(vector,) = BuiltinEmbedder(Path(folder)).embed(["I moved to Lisbon."])
assert len(vector) == SPACE.dimension
"""
SEARCH = """
from palimpsest.engines.opensearch.client import connected
from palimpsest.text.analyser import query_terms
assert query_terms("running").words
connected("https://search.example", region="us-east-1")
connected("http://127.0.0.1:9200")
"""
KEYS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_EC2_METADATA_DISABLED": "true",
}
AGENT = """
import sys
from palimpsest_client import AsyncPalimpsest, Palimpsest
with Palimpsest("http://127.0.0.1:9", "pal_of-this-test") as memory:
    memory.user("sarah")
assert not {"palimpsest", "pydantic", "botocore"} & set(sys.modules)
"""
GRAPH = """
from palimpsest_graph.ladybug.graphs import LadybugGraphs
from palimpsest_graph.cypher import read_query
from palimpsest.graph.ports import GraphLimits
from palimpsest.graph.neighbourhood import Graph
from palimpsest.graph.things import Entity
from palimpsest.scope import UserScope
graphs, graph = LadybugGraphs(), Graph(nodes={"sarah": Entity("sarah", "User", "sarah")})
found = graphs.query(UserScope("t", "sarah"), graph, read_query("MATCH (u:User) RETURN u.id"), {}, limits=GraphLimits())
assert found.rows == [["sarah"]]
"""
TOKENS = """
import json, time, jwt
from cryptography.hazmat.primitives.asymmetric import ec
from palimpsest.api.tokens import AuthorizeTokens
key = ec.generate_private_key(ec.SECP256R1())
public = {**json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key())), "kid": "k"}
claims = {"iss": "https://issuer.example", "aud": "a", "exp": time.time() + 60, "tenant": "acme"}
token = jwt.encode(claims, key, algorithm="ES256", headers={"kid": "k"})
authorize = AuthorizeTokens.of("https://issuer.example", ["a"], jwks={"keys": [public]})
assert authorize(f"Bearer {token}").tenant == "acme"
"""
SDK = f"""
from botocore.session import Session
session = Session()
for service in {sorted(layer_build.SERVICES)}:
    client = session.create_client(service, region_name="eu-central-1")
    assert client.meta.endpoint_url.endswith(".eu-central-1.amazonaws.com") or service == "s3", service
    model = client.meta.service_model
    assert not any(model.operation_model(name).documentation for name in model.operation_names)
    assert not any(parameter.documentation for parameter in model.client_context_parameters)
s3 = session.create_client("s3", region_name="eu-central-1")  # the service whose addresses follow its parameters
s3.generate_presigned_url("put_object", Params=dict(Bucket="b", Key="k"))
"""
LATE = f"""
import sys
from importlib import import_module
late = [import_module(package.replace("/", ".")) for package in {layer_build.LATE}]
assert not [name for name in sys.modules for package in late if name.startswith(package.__name__ + ".")]
assert all(callable(getattr(package, name)) for package in late for name in package.__all__)
assert not any(hasattr(package, "Nothing") for package in late)
"""
COMPILED = """
import sys
texts = []
sys.addaudithook(lambda event, given: event == "compile" and texts.append(str(given[0])))
import handler
print(sum("def __create_fn__" in text for text in texts))
"""
MODEL = """
from openai import OpenAI
OpenAI(api_key="sk-made-up").embeddings
"""


def packages(name: str, wheels: Wheels = ON_AWS) -> Path:
    return layer_build.build(name, wheels).folder / "python"


def test_what_every_function_carries_has_no_model_client_and_no_tracer() -> None:
    there = {path.name for path in packages("runtime").iterdir()}
    assert {
        "aws_lambda_powertools",
        "botocore",
        "pydantic",
        "tiktoken",
        "tiktoken_ranks",
        "cachetools",
    } <= there
    assert any(name.startswith("Stemmer.") for name in there)
    assert not {"openai", "opensearchpy", "numpy", "aws_xray_sdk"} & there


def test_the_models_layer_repeats_nothing_of_the_one_beneath() -> None:
    runtime, models = (
        {path.name for path in packages(name).iterdir()} for name in ("runtime", "models")
    )
    assert "openai" in models
    assert not runtime & models


def test_no_layer_holds_what_only_unused_parts_of_libraries_import() -> None:
    there = {path.name for name in ALL for path in packages(name, on_this_machine()).iterdir()}
    assert {"opensearchpy", "openai", "onnxruntime", "tokenizers", "builtin_models"} <= there
    assert not {"grpc", "opensearch", "huggingface_hub", "hf_xet"} & there


@pytest.mark.parametrize(
    "script",
    [EMBED, SEARCH, MODEL, GRAPH, TOKENS, SDK, LATE],
    ids=[
        "embeds",
        "searches",
        "asks a model",
        "queries a graph",
        "checks a token",
        "calls AWS",
        "reads any event",
    ],
)
def test_what_is_left_is_enough(script: str) -> None:
    """Nothing is on the path but the layers: site-packages are switched off."""
    layers = [
        paths.LAYERS / "core" / "python",
        *(packages(name, on_this_machine()) for name in (*ALL, "tokens")),
    ]
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(map(str, layers)),
        **KEYS,
    }
    done = subprocess.run(  # noqa: S603 - the Python that functions run on
        [pythons.function_python(), "-S", "-c", script],
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("wheels", [ON_AWS, on_this_machine()], ids=lambda wheels: wheels.processor)
def test_the_clients_layer_is_enough_for_an_agent_on_the_functions_python(wheels: Wheels) -> None:
    """What it needs has no compiled code, so that the layer for AWS runs here as well."""
    folder = packages("client", wheels)
    assert not list(folder.rglob("*.so"))
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(folder)}
    command = [pythons.of_version(wheels.python) or pythons.function_python(), "-S", "-c", AGENT]
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)  # noqa: S603 - as above
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["runtime", "models", "builtin", "tokens", "traces"])
def test_compiled_code_is_for_the_functions_processor(name: str) -> None:
    compiled = list(packages(name).rglob("*.so"))
    assert compiled
    assert not [path for path in compiled if "cpython" in path.name and "aarch64" not in path.name]
    for path in compiled:
        assert path.read_bytes()[18:20] == b"\xb7\x00", path  # ELF's number for aarch64


def test_the_engine_of_graphs_is_packed_for_the_functions_processor() -> None:
    with ZipFile(packages("graph") / PACKED) as packed:
        (compiled,) = [name for name in packed.namelist() if name.endswith(".so")]
        assert packed.read(compiled)[18:20] == b"\xb7\x00"


GLIBC = re.compile(rb"GLIBC_(\d+)\.(\d+)")
LAMBDAS_GLIBC = (2, 34)  # of Amazon Linux 2023, on which functions in Python 3.13 run


@pytest.mark.parametrize("name", ["runtime", "models", "builtin", "graph", "tokens", "traces"])
def test_compiled_code_needs_no_newer_glibc_than_lambdas(name: str) -> None:
    compiled = [path.read_bytes() for path in packages(name).rglob("*.so*") if path.is_file()]
    if name == "graph":
        with ZipFile(packages("graph") / PACKED) as packed:
            compiled = [packed.read(one) for one in packed.namelist() if ".so" in one]
    needed = {(int(major), int(minor)) for code in compiled for major, minor in GLIBC.findall(code)}
    assert needed, "nothing compiled was found"
    assert max(needed) <= LAMBDAS_GLIBC


def unzipped(*layers: str) -> int:
    return sum(
        path.stat().st_size
        for name in layers
        for path in packages(name).rglob("*")
        if path.is_file()
    )


def test_layers_stay_below_lambdas_limit_with_the_builtin_models_too() -> None:
    core = layer_build.build_core(ON_AWS).folder
    library = sum(path.stat().st_size for path in core.rglob("*") if path.is_file())
    assert unzipped("runtime", "models") + library < LIMIT / 2
    assert unzipped(*ALL) + library < LIMIT * 0.9


def test_the_results_say_how_large_the_layers_are() -> None:
    said = note("Sizes, unzipped", r"with all layers has (\d+) MB")()
    assert said == pytest.approx(whole(), abs=2), "make bench ARGS='sizes --write', then docs"
    traced = note("Sizes, unzipped", r"and (\d+) MB with traces")()
    assert traced == pytest.approx(whole(traces=True), abs=2)


def test_the_sdk_knows_the_services_that_functions_call_and_no_others() -> None:
    services = {
        path.name for path in (packages("runtime") / "botocore" / "data").iterdir() if path.is_dir()
    }
    assert services == layer_build.SERVICES


def test_the_sdks_data_is_what_a_call_reads_and_no_more() -> None:
    """A new process parses it all before its first call."""
    data = packages("runtime") / "botocore" / "data"
    models = [*data.rglob("service-2.json")]
    assert {model.parts[-3] for model in models} == layer_build.SERVICES
    assert not [*data.rglob("service-2.json.gz")]
    assert not any(re.search(r'"documentation": "[^"]', model.read_text()) for model in models)
    assert (data / "endpoints.json").stat().st_size < 100_000
    endpoints = (data / "endpoints.json").stat()
    ours = paths.BUILD.glob("layers/*/python/botocore/data/endpoints.json")
    links = sum(path.stat().st_ino == endpoints.st_ino for path in ours)
    assert endpoints.st_nlink == links, "shared with the installer's cache, and so with all else"


def test_a_layer_holds_the_versions_that_are_locked() -> None:
    locked = dict(
        re.findall(r"^([\w-]+)==([\w.]+)", layer_build.lock_of("runtime").read_text(), re.MULTILINE)
    )
    found = {
        distribution.name.lower().replace("_", "-"): distribution.version
        for distribution in metadata.distributions(path=[str(packages("runtime"))])
    }
    assert found
    assert found.items() <= locked.items()


def test_a_built_layer_is_not_built_again() -> None:
    before = packages("runtime").stat().st_mtime_ns
    assert packages("runtime").stat().st_mtime_ns == before


def test_another_platform_is_another_layer() -> None:
    on_other_python = Wheels(python="3.12", platform=ON_AWS.platform, processor=ON_AWS.processor)
    assert layer_build.hash_of("runtime", on_other_python) != layer_build.hash_of("runtime", ON_AWS)


def test_the_library_and_its_packages_ship_bytecode_that_is_never_checked_against_its_source() -> (
    None
):
    wheels = on_this_machine()
    tag = f"cpython-{wheels.python.replace('.', '')}"
    for folder in (
        layer_build.build_core(wheels).folder / "python" / "palimpsest",
        packages("runtime", wheels) / "pydantic",
    ):
        for source in folder.glob("*.py"):
            bytecode = (folder / "__pycache__" / f"{source.stem}.{tag}.pyc").read_bytes()
            assert int.from_bytes(bytecode[4:8], "little") == 0b01, (
                source
            )  # a hash, unchecked (PEP 552)


def test_the_library_s_layer_holds_its_sources_and_nothing_else() -> None:
    built = layer_build.build_core(on_this_machine()).folder / "python"
    source = paths.LAYERS / "core" / "python"
    there, here = (
        {path.relative_to(root) for path in root.rglob("*.py")} for root in (built, source)
    )
    assert there == here
    suffixes = {path.suffix for path in built.rglob("*") if path.is_file()}
    assert suffixes <= {".py", ".pyc", ".md", ".json", ".typed", ".marshal"}


def test_what_is_for_one_machine_is_in_the_core_layer_of_one_machine_alone() -> None:
    wheels = on_this_machine()
    everywhere = layer_build.build_core(wheels).folder / "python"
    here = layer_build.build_core(wheels, is_local=True).folder / "python"
    assert {folder.name for folder in everywhere.iterdir()} == {"palimpsest", "palimpsest_tables"}
    assert (here / "palimpsest_local" / "embedded" / "index.py").is_file()
    assert (here / "palimpsest" / "service" / "service.py").is_file()


def test_the_console_the_description_and_the_graph_have_layers_of_their_own() -> None:
    wheels = on_this_machine()
    console, graph = packages("console", wheels), packages("graph", wheels)
    description = packages("description", wheels)
    assert (console / "palimpsest_console" / "page.html").is_file()
    assert (description / "palimpsest_description" / "openapi.json").is_file()
    assert not list((paths.LAYERS / "core").rglob("openapi.json"))
    assert (graph / "palimpsest_graph" / "cypher.py").is_file()
    assert (graph / PACKED).is_file()


@pytest.mark.parametrize("wheels", [ON_AWS, on_this_machine()], ids=lambda wheels: wheels.processor)
def test_a_function_starts_without_compiling_the_methods_of_a_dataclass(wheels: Wheels) -> None:
    """The code for AWS holds on every processor: it is bytecode of the same Python."""
    built = layer_build.build_core(wheels).folder / "python"
    assert compiled_by("sessions", built) == 0
    assert compiled_by("sessions", paths.LAYERS / "core" / "python") > 200


def compiled_by(function: str, library: Path) -> int:
    """How many texts `dataclass` compiles while a function loads what it serves."""
    places = [paths.FUNCTIONS / function, library, packages("runtime", on_this_machine())]
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(map(str, places)),
        **KEYS,
    }
    done = subprocess.run(  # noqa: S603 - the Python that functions run on
        [pythons.function_python(), "-S", "-c", COMPILED],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return int(done.stdout)
