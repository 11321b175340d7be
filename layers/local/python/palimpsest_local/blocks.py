"""The blocks of a memory in this process. Programs may read and change them one by one."""

from __future__ import annotations

from palimpsest.context.blocks.extractive import ExtractiveMemory
from palimpsest.context.blocks.ports import Conversation, Delete, Update
from palimpsest.context.blocks.static import StaticMemory
from palimpsest.context.blocks.vectors import VectorMemory, similar_messages
from palimpsest.conversations.configuration import parsed
from palimpsest.conversations.lifecycle import ANOTHERS
from palimpsest.conversations.message import message_key
from palimpsest.errors import Conflict, Unavailable
from palimpsest.scope import UserScope
from palimpsest.search.documents import gone, message_version
from palimpsest.service.service import Service

PAGE = 100


def name_of(session: str | Conversation, user: UserScope) -> str:
    """Return the session's id. Raises `Conflict` if it is another user's session."""
    if isinstance(session, str):
        return session
    if session.owner != user:
        raise Conflict(ANOTHERS, code="owner_mismatch")
    return session.scope.session


class Blocks:
    """The blocks of one user over a service."""

    def __init__(
        self, service: Service, user: UserScope, *, update: Update, delete: Delete
    ) -> None:
        self._service, self._user = service, user
        stores = service.stores
        self.static = StaticMemory(stores.facts)
        extractive = service.context.blocks.extractive
        extractive = extractive or ExtractiveMemory(stores.memories, service.clock)
        self.extractive = extractive.changing(update=update, delete=delete)

    def vector(self, *, update: Update) -> VectorMemory:
        similar = similar_messages(lambda: self._service.search)
        return VectorMemory(similar, update=update, delete=self._drop_vectors)

    def conversation(self, session: str | Conversation) -> Conversation:
        """Return an existing session in the form that its blocks accept. Raises `NotFound`."""
        scope = self._user.owner.session(name_of(session, self._user))
        shown = self._service.manage.read(scope)
        config = parsed(dict(shown.settings.memory))
        view = Conversation(scope, shown.head.user, config, shown.head.agent)
        name_of(view, self._user)
        return view

    def _drop_vectors(self, session: Conversation) -> None:
        """Remove the session from the search index. Its messages stay."""
        scope = self.conversation(session).scope
        version = message_version(self._service.manage.read(scope).head)
        after = None
        while True:
            page, after = self._service.history.messages(scope, limit=PAGE, after=after)
            keys = [message_key(scope.session, message.seq) for message in page]
            if self._service.index.write(self._user, [gone(key, version=version) for key in keys]):
                raise Unavailable(
                    "Some messages could not be removed from the search index.", code="vector"
                )
            if after is None:
                return
