"""LangChain: `DynamoDBChatMessageHistory` on the same database as ours, with the table of its
documentation.
"""

import json
from collections.abc import Sequence
from typing import Any

from benchmarks.beside.subjects.harness import Said, main
from benchmarks.meter import item_bytes


class Subject:
    batch = 50

    def __init__(self, place: str) -> None:
        import boto3

        self._at = json.loads(place)
        self._aws = boto3.Session()
        self._histories: dict[str, Any] = {}

    def append(self, session: str, messages: Sequence[Said]) -> None:
        from langchain_core.messages import AIMessage, HumanMessage

        kinds = {"user": HumanMessage, "assistant": AIMessage}
        self._history(session).add_messages([kinds[role](content=text) for role, text in messages])

    def newest(self, session: str, count: int) -> Sequence[str]:
        return self.everything(session)[-count:]

    def everything(self, session: str) -> Sequence[str]:
        return [message.content for message in self._history(session).messages]

    def stored_bytes(self, session: str) -> int:
        client = self._aws.client("dynamodb", endpoint_url=self._at["endpoint"])
        items = client.get_item(TableName=self._at["table"], Key={"SessionId": {"S": session}})
        return item_bytes(dict(items["Item"]))

    def _history(self, name: str) -> Any:
        import langchain_community.chat_message_histories as langchain  # type: ignore[import-not-found] # in its own

        if name not in self._histories:
            self._histories[name] = langchain.DynamoDBChatMessageHistory(
                table_name=self._at["table"], session_id=name, endpoint_url=self._at["endpoint"],
                boto3_session=self._aws,
            )  # fmt: skip
        return self._histories[name]


if __name__ == "__main__":
    main(Subject)
