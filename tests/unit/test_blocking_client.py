"""The client that waits is written from the client that is awaited."""

from layers.client import write_blocking


def test_the_client_that_waits_is_what_its_generator_writes() -> None:
    written = write_blocking.written(write_blocking.AWAITED.read_text())
    assert write_blocking.BLOCKING.read_text() == written, "run `make client`"


def test_a_method_of_the_awaited_client_reaches_the_client_that_waits() -> None:
    method = "    async def ping(self) -> AsyncJob:\n        return await self.begun()\n"
    written = write_blocking.written(write_blocking.AWAITED.read_text() + method)
    assert "    def ping(self) -> Job:\n        return self.begun()\n" in written
