"""Vectors in an export: each namespace with its model and dimension, and the vectors in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from palimpsest.memory.ports import Memories
from palimpsest.scope import UserScope
from palimpsest.transfer.kinds import Kind, Outcome, Page
from palimpsest.transfer.lines import Row, read, values
from palimpsest.vectors import AT_ONCE, Namespace, StoredVector, VectorStore

PAGE = 500


@dataclass(frozen=True, slots=True)
class VectorsKind:
    store: VectorStore
    memories: Memories

    @property
    def kind(self) -> Kind:
        return Kind("vectors", "namespace", self.page, self.restore)

    def page(self, scope: UserScope, place: str | None) -> Page:
        """Some vectors of one namespace; an empty namespace is left out."""
        name, after = json.loads(place) if place else ("", "")
        spaces = [each for each in self.store.namespaces(scope) if each.count and each.name >= name]
        if not spaces:
            return (), None
        space = spaces[0]
        after = after if space.name == name else ""
        left = (each for each in self.store.vectors(scope, space) if each.id > after)
        page = list(islice(left, PAGE))
        rows: list[Row] = [] if after else [{"kind": "namespace", **values(space)}]
        rows += [{"kind": "vector", "namespace": space.name, **values(each)} for each in page]
        if len(page) == PAGE:
            return rows, json.dumps([space.name, page[-1].id], separators=(",", ":"))
        return rows, json.dumps([spaces[1].name, ""], separators=(",", ":")) if len(spaces) > 1 else None

    def restore(self, scope: UserScope, rows: Iterator[Row], epoch: int) -> Outcome:
        """Store the vectors that are not there. A namespace of another dimension or model is a conflict and stays.
        Raises `CommitLost`, `Unavailable`.
        """
        exported = read(Namespace, next(rows))
        found = self.store.namespace(scope, exported.name)
        if found is not None and found.count and (found.dimension, found.model) != (exported.dimension, exported.model):
            return "conflicts"
        stored = found or replace(exported, epoch=epoch)
        space = replace(stored, dimension=exported.dimension, model=exported.model)
        given, outcome = [read(StoredVector, row) for row in rows], "there"
        for start in range(0, len(given), AT_ONCE):
            part = given[start : start + AT_ONCE]
            there = self.store.existing(scope, space, [each.id for each in part])
            new = [each for each in part if each.id not in there]
            if new:
                outcome = "restored"
                space = replace(space, count=space.count + len(new))
                self.store.commit(scope, space, put=new)
                space = replace(space, version=space.version + 1)
        return "restored" if outcome == "restored" else "there"
