"""A reader follows the documents from the first page to the last on one stack, and every page shows
what happens.
"""

import runpy
from pathlib import Path

import pytest

from tests.adapters.test_adapters import GIVEN, GUIDE, run
from tests.documents import pages, reader, shell
from tests.doubles.openai_api import OpenAIApi
from tests.served import KEY, Served

HERE = (*pages.to_run("python"), "client.md")
COMMANDS = pages.to_run("sh")


def test_all_pages_run_in_order_on_one_stack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Served() as stack, OpenAIApi() as model:
        for number, page in enumerate(pages.in_order()):
            folder = tmp_path / f"page-{number}"
            with monkeypatch.context() as here:
                reader.sits_down(folder, here, service=stack.url, model=model.base_url)
                _python(page, stack, folder)
                if page in COMMANDS:
                    known = {"PALIMPSEST_URL": stack.url, "PALIMPSEST_API_KEY": KEY}
                    shell.run(page, folder, URL=stack.url, KEY=KEY, **known)


def _python(page: str, stack: Served, folder: Path) -> None:
    environment = pages.environment_of(page)
    if page not in HERE:
        return
    if environment is not None:
        run(environment, GUIDE, folder=folder, services={page: stack.url})
        return
    given = GIVEN / f"{Path(page).stem}.py"
    pages.run_python(page, runpy.run_path(str(given)) if given.exists() else {})


def test_every_page_has_its_place_in_the_order() -> None:
    ordered = pages.in_order()
    assert ordered.index("quickstart.md") < ordered.index("guides/openai-agents.md")
    of_the_site = {*pages.to_run("python"), *COMMANDS} - {"README.md"}  # it is no page of the site
    assert of_the_site <= {*ordered}
    assert len(ordered) == len({*ordered})
