"""Builds the search index that the settings name."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from urllib.parse import urlsplit

from palimpsest import settings
from palimpsest.models.ports import Space
from palimpsest.search.absent import AbsentIndex
from palimpsest.search.ports import SearchIndex

SEARCH_FAMILY = "palimpsest"


@cache
def search_index(environment: settings.SearchSettings) -> SearchIndex:
    """Return the search index that the settings name. If they name none, return an index that finds
    nothing.
    """
    if not environment.search_url:
        return AbsentIndex()
    space = Space(environment.embedding_model, environment.embedding_dimension)
    if environment.search_url.startswith("file:"):
        path = Path(urlsplit(environment.search_url).path)
        of_file = import_module("palimpsest_local.embedded.index").EmbeddedIndex
        index: SearchIndex = of_file(path, space=space)
        return index
    if environment.search_url.startswith("dynamodb:"):
        from palimpsest.engines.dynamodb.search.index import DynamoDbIndex

        url = urlsplit(environment.search_url)
        return DynamoDbIndex(url.netloc, url.path.removeprefix("/"), space=space)
    import boto3

    from palimpsest.engines.opensearch.client import connected
    from palimpsest.engines.opensearch.index import OpenSearchIndex

    region = boto3.Session().region_name if environment.search_url.startswith("https:") else None
    return OpenSearchIndex(
        connected(environment.search_url, region=region), family=SEARCH_FAMILY, space=space
    )
