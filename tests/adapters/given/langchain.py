"""A model for LangChain's agents that says that all is well."""

from typing import Any

from langchain_core.language_models.fake_chat_models import FakeListChatModel


class Model(FakeListChatModel):
    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self


model = Model(responses=["All is well."])
