"""The tags that a deployer gives to all resources of a stack, for example to divide the bill."""

import re
from collections.abc import Callable, Mapping
from typing import Any

OURS = ("service", "stage")
"""The tags that every stack has anyway."""
MOST = 40
"""How many tags a deployer may give. A resource of AWS has at most 50, of which a tenth stays free
beside ours and the CDK's.
"""
KEY = re.compile(r"(?!aws:)[\w.:/=+@ -]{1,128}", re.IGNORECASE)
VALUE = re.compile(r"[\w.:/=+@ -]{0,256}")


def tags_of(context: Callable[[str], Any]) -> Mapping[str, str]:
    """Return the tags of the CDK context (`tags=team=memory,cost=42`) by their keys. Raises
    `SystemExit` for tags that AWS would refuse on one of the resources.
    """
    pairs = [pair.strip() for pair in str(context("tags") or "").split(",") if pair.strip()]
    read = [_read(pair) for pair in pairs]
    # IAM takes `Team` and `team` for the same key.
    keys = [*OURS, *(key.lower() for key, _ in read)]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise SystemExit(f"The context `tags` may not name {', '.join(twice)} again.")
    if len(read) > MOST:
        raise SystemExit(f"The context `tags` has at most {MOST} tags.")
    return dict(read)


def _read(pair: str) -> tuple[str, str]:
    """Return the key and the value of a tag."""
    key, equals, value = (part.strip() for part in pair.partition("="))
    if not (equals and KEY.fullmatch(key) and VALUE.fullmatch(value)):
        raise SystemExit(
            f"The context `tags` has pairs such as team=memory,cost=42, with letters, digits, "
            f"spaces and _.:/=+@- in keys and values, and no key that begins with aws:. It has "
            f"{pair!r}."
        )
    return key, value
