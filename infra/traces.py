"""The choices of a deployer about traces."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

XRAY = "xray"
UNTRACED = frozenset({"authorize", "site"})
"""Functions that send no spans: they read no conversation and no memory."""


@dataclass(frozen=True, slots=True)
class Traces:
    """Where spans go. `sink` is `xray` or the address of a collector that takes OTLP over HTTP; if
    it is empty, nothing is traced. `share` is the share of traces that are recorded. `layer` is the
    ARN of a layer with a collector.
    """

    sink: str = ""
    share: str = "1"
    layer: str = ""

    def endpoint(self, region: str) -> str:
        """Return the address to which spans are sent, or "" if nothing is traced."""
        if self.sink == XRAY:
            return f"https://xray.{region}.amazonaws.com/v1/traces"
        return self.sink


def traces_of(context: Callable[[str], Any]) -> Traces:
    """Read from the CDK context where spans go."""
    sink, share = context("traces") or "", str(context("traces_share") or "1")
    if sink and sink != XRAY and not sink.startswith(("https://", "http://localhost:")):
        raise SystemExit(
            "The context `traces` is `xray`, or the address of a collector that begins with "
            "https:// or http://localhost."
        )
    if not _is_share(share):
        raise SystemExit("The context `traces_share` is a number from 0 to 1.")
    return Traces(sink=sink, share=share, layer=context("traces_layer") or "")


def _is_share(text: str) -> bool:
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False
