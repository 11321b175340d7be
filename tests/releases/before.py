"""Lets the code of an earlier release read tables that this release wrote.

python -m tests.releases.before FOLDER FUNCTION PATH…

`FOLDER` has the code of that release. The environment is that of its function. For each path it
prints a line with the status and the body of the answer to a GET.
"""

import importlib.util
import json
import sys
import tarfile
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.releases.fixture import RELEASES, TENANT
from tests.unit.api.gateway import ALL_SCOPES, LambdaContext, http_event

CODE = "library.tar.xz"
READERS = ("sessions", "memories")
CORE = Path("layers") / "core" / "python"


def unpack(release: str, folder: Path) -> None:
    with tarfile.open(RELEASES / release / CODE) as archive:
        archive.extractall(folder, filter="data")


def main(folder: str, function: str, *paths: str) -> None:
    sys.path.insert(0, str(Path(folder) / CORE))
    file = Path(folder) / "functions" / function / "handler.py"
    spec = importlib.util.spec_from_file_location("handler", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    import palimpsest

    assert str(palimpsest.__file__).startswith(folder)
    lambda_context = {"tenant": TENANT, "scopes": ALL_SCOPES, "key_id": "k" * 64}
    for path in paths:
        place = urlsplit(path)
        query = {name: values[0] for name, values in parse_qs(place.query).items()}
        event = http_event("GET", place.path, query=query, authorizer={"lambda": lambda_context})
        answer = module.handler(event, LambdaContext())
        print(json.dumps([answer["statusCode"], json.loads(answer["body"])]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
