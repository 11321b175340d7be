"""The conversation store on DynamoDB."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from palimpsest.conversations.message import Message
from palimpsest.conversations.ports import HeadMoved, Listed, Opened, PartOfSession, PartsOfSessions
from palimpsest.conversations.session import Commit, Compaction, Head, Settings
from palimpsest.engines.cursors import session_cursor
from palimpsest.engines.dynamodb.errors import FirstFailed, Refused
from palimpsest.engines.dynamodb.lists import SESSIONS, TenantIndex
from palimpsest.engines.dynamodb.memories.commits import listing
from palimpsest.engines.dynamodb.memories.items import USER, epoch_of, user_of
from palimpsest.engines.dynamodb.sessions import items
from palimpsest.engines.dynamodb.sessions.commits import Update, actions_of, is_too_large
from palimpsest.engines.dynamodb.table import BATCH_WRITE, Item, OneTable, Table, key
from palimpsest.engines.places import listed_within
from palimpsest.errors import CommitLost, TooLarge
from palimpsest.scope import Scope, SessionScope, UserScope

Read = TypeVar("Read")


class DynamoDbSessions(OneTable):
    """Implements `Sessions` over one table. `memories` is the table of long-term memory, if there
    is one; it holds the users' epochs.
    """

    def __init__(self, table: str, *, memories: str | None = None, **where: Any) -> None:
        super().__init__(table, **where)
        self._users = None if memories is None else Table(memories, **where)

    def open(
        self,
        scope: SessionScope,
        *,
        settings: bool = False,
        key: str | None = None,
        user: str | None = None,
    ) -> Opened:
        sorts = [items.HEAD]
        if settings:
            sorts.append(items.SETTINGS)
        if key is not None:
            sorts.append(items.key_sort(key))
        opened = self._opened(scope, sorts, user)
        head, stored = opened.get(items.HEAD), opened.get(items.SETTINGS)
        of_user = user_of(opened.get(USER))
        knows_user = self._users is not None and user is not None
        key_item = None if key is None else opened.get(sorts[-1])
        return Opened(
            head=_read(head, items.head_of),
            settings=_read(stored, items.settings_of),
            key=_read(key_item, items.key_of),
            epoch=of_user.epoch,
            user_version=of_user.version if knows_user else None,
        )

    def _opened(
        self, scope: SessionScope, sorts: Sequence[str], user: str | None
    ) -> Mapping[str, Item]:
        """Return items of the session and the user's item from the table of memories, by sort key.
        All their sort keys differ.
        """
        if self._users is not None and user is not None:
            places = [(scope.partition, sort) for sort in sorts]
            of_user = [(scope.owner.user(user).partition, USER)]
            rows = self._table.get_across({self._table.name: places, self._users.name: of_user})
        elif len(sorts) > 1:
            rows = self._table.get_many(scope.partition, sorts)
        else:
            head = self._table.get(scope.partition, items.HEAD)
            rows = iter([head] if head else [])
        return {item["sk"]["S"]: item for item in rows}

    def epoch(self, scope: UserScope) -> int:
        return 0 if self._users is None else epoch_of(self._users.get(scope.partition, USER))

    def commit(self, scope: SessionScope, commit: Commit) -> None:
        actions = actions_of(self._table.name, scope, commit)
        if commit.begins and self._users is not None:
            actions.append(
                listing(self._users.name, scope.owner.user(commit.after.user), commit.after.epoch)
            )
        try:
            self._table.transact(actions)
        except FirstFailed as lost:
            raise HeadMoved(items.head_of(lost.item)) from lost
        except Refused as error:
            if is_too_large(actions):
                raise TooLarge("An item or the whole commit is over the store's limit.") from error
            raise

    def messages(
        self,
        scope: SessionScope,
        *,
        first: int,
        last: int,
        newest_first: bool = False,
        page: int | None = None,
    ) -> Iterator[Message]:
        """Yield the messages from `first` to `last`. Only the body of each item is read, because it
        holds the whole message.
        """
        if first > last:
            return
        end = first if newest_first else last
        low, high = items.message_sort(first), items.message_sort(last)
        for page_of_items in self._between(
            scope, low, high, newest_first=newest_first, limit=page, attributes="body"
        ):
            for item in page_of_items:
                message = items.message_of(item)
                yield message
                if message.seq == end:
                    return  # saves a query that would find nothing more

    def messages_at(self, scope: SessionScope, seqs: Sequence[int]) -> tuple[Message, ...]:
        wanted = sorted({items.message_sort(seq) for seq in seqs})
        if not wanted:
            return ()
        stored = self._table.get_many(scope.partition, wanted)
        return tuple(sorted(map(items.message_of, stored), key=lambda message: message.seq))

    def parts(self, scope: UserScope, seqs: Mapping[str, Collection[int]]) -> PartsOfSessions:
        partitions = {scope.owner.session(session).partition: session for session in seqs}
        places = [
            (self._table.name, partition, sort)
            for partition, session in partitions.items()
            for sort in (items.HEAD, *map(items.message_sort, sorted(seqs[session])))
        ]
        if self._users is not None:
            places.append((self._users.name, scope.partition, USER))
        heads: dict[str, Head] = {}
        messages: dict[str, dict[int, Message]] = defaultdict(dict)
        epoch = 0
        for item in self._table.get_anywhere(places):
            session, sort = partitions.get(item["pk"]["S"], ""), item["sk"]["S"]
            if sort == USER:
                epoch = epoch_of(item)
            elif sort == items.HEAD:
                heads[session] = items.head_of(item)
            else:
                message = items.message_of(item)
                messages[session][message.seq] = message
        read = {name: PartOfSession(heads.get(name), messages.get(name, {})) for name in seqs}
        return PartsOfSessions(read, epoch)

    def compaction(self, scope: SessionScope, last: int) -> Compaction | None:
        item = self._table.get(scope.partition, items.compaction_sort(last))
        return items.compaction_of(item) if item else None

    def compactions(
        self,
        scope: SessionScope,
        *,
        first: int,
        last: int,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> tuple[Compaction, ...]:
        compactions: list[Compaction] = []
        if first > last:
            return ()
        low, high = items.compaction_sort(first), items.compaction_sort(last)
        for page in self._between(
            scope, low, high, newest_first=newest_first, limit=limit, attributes="body"
        ):
            compactions += map(items.compaction_of, page)
            if limit is not None and len(compactions) >= limit:
                break
        return tuple(compactions[:limit])

    @property
    def _of_tenant(self) -> TenantIndex:
        return TenantIndex(self._table, "by_owner", "created", bucket=items.OWNER, among=SESSIONS)

    def count(self, scope: Scope, *, most: int) -> int:
        return self._of_tenant.count(scope, most=most)

    def listed(
        self,
        scope: Scope,
        *,
        user: str | None,
        since: str | None = None,
        until: str | None = None,
        limit: int,
        after: str | None = None,
        newest_first: bool = True,
    ) -> Listed:
        cursor = session_cursor(scope, user)
        index = (
            TenantIndex(self._table, "by_user", "listed") if user is not None else self._of_tenant
        )
        within = listed_within(user, since=since, until=until)
        place = cursor.place(after)
        places, has_more = index.page(
            scope, user=user, within=within, limit=limit, after=place, newest_first=newest_first
        )
        sessions = tuple(place.rpartition("#")[2] for place in places)
        return Listed(sessions, cursor.at(places[-1]) if has_more else None)

    def remove(self, scope: SessionScope, *, first: int, last: int, whole: bool) -> int:
        return remove(self._table, scope, first=first, last=last, whole=whole)

    def reschedule(self, scope: SessionScope, settings: Settings, *, due_at: int | None) -> None:
        update = Update()
        update.put_all(items.settings_places(scope, settings))
        update.put_due(scope.partition, due_at)
        update.require("base", items.number(settings.base))
        known = settings.due_at
        update.require("due_at", *([] if known is None else [items.number(known)]))
        try:
            self._table.call(
                "UpdateItem", **update.arguments(self._table.name, scope.partition, items.SETTINGS)
            )
        except CommitLost:
            return  # the settings are gone, of a later session with the same id, or due elsewhen

    def _between(
        self,
        scope: SessionScope,
        low: str,
        high: str,
        *,
        newest_first: bool,
        limit: int | None,
        attributes: str,
    ) -> Iterator[Sequence[Item]]:
        values = {
            ":pk": items.text(scope.partition),
            ":low": items.text(low),
            ":high": items.text(high),
        }
        bound = {} if limit is None else {"Limit": limit}
        return self._table.pages(
            "pk = :pk AND sk BETWEEN :low AND :high", values,
            ScanIndexForward=not newest_first, ProjectionExpression=attributes, **bound,
        )  # fmt: skip


def remove(table: Table, scope: SessionScope, *, first: int, last: int, whole: bool) -> int:
    """Remove messages and compactions from `first` to `last` without a condition, because a
    sequence number is used once. With `whole`, also remove idempotency keys and settings that are
    not newer than `last`. Returns the number of removed items.
    """
    removed = 0
    if first <= last:
        for sort in (items.message_sort, items.compaction_sort):
            removed += _remove_range(table, scope.partition, sort(first), sort(last))
    if whole:
        for name in _keys(table, scope):
            removed += _remove_if(
                table, key(scope.partition, name), "#seq <= :last", seq="last_seq", last=last
            )
        removed += _remove_if(
            table, key(scope.partition, items.SETTINGS), "#seq < :last", seq="base", last=last
        )
    return removed


def _remove_range(table: Table, partition: str, low: str, high: str) -> int:
    values = {":pk": items.text(partition), ":low": items.text(low), ":high": items.text(high)}
    removed = 0
    for page in table.pages(
        "pk = :pk AND sk BETWEEN :low AND :high", values, ProjectionExpression="sk"
    ):
        sorts = [item["sk"]["S"] for item in page]
        for start in range(0, len(sorts), BATCH_WRITE):
            table.delete_many(partition, sorts[start : start + BATCH_WRITE])
        removed += len(sorts)
    return removed


def _keys(table: Table, scope: SessionScope) -> Iterator[str]:
    values = {":pk": items.text(scope.partition), ":prefix": items.text(items.KEYS)}
    for page in table.pages(
        "pk = :pk AND begins_with(sk, :prefix)", values, ProjectionExpression="sk"
    ):
        yield from (item["sk"]["S"] for item in page)


def _remove_if(table: Table, item: Item, is_old: str, *, seq: str, last: int) -> int:
    """Delete one item if the condition `is_old` holds; return 1 if it was deleted, else 0. The
    condition keeps an item that was written again after the session had been deleted at `last`.
    """
    try:
        table.call(
            "DeleteItem",
            TableName=table.name,
            Key=item,
            ConditionExpression=is_old,
            ExpressionAttributeNames={"#seq": seq},
            ExpressionAttributeValues={":last": items.number(last)},
        )
    except CommitLost:
        return 0
    return 1


def _read(item: Item | None, read: Callable[[Item], Read]) -> Read | None:
    return None if item is None else read(item)
