"""Logs and metrics of a function: constant messages with fields, never a stored text, never a
key.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from aws_lambda_powertools import Logger

logger = Logger(use_rfc3339=True, utc=True)
NAMESPACE = "Palimpsest"


def log_usage(tenant: str, used: Mapping[str, int], *, is_counted: bool = True) -> None:
    """Log what was used as metrics, in CloudWatch's embedded format: of the whole stage, as one
    metric a tenant would cost more than it tells; the line names the tenant. `is_counted` is false
    if no row counts it.
    """
    metrics = [{"Name": name, "Unit": "Count"} for name in used]
    about = {"Namespace": NAMESPACE, "Dimensions": [["service"]], "Metrics": metrics}
    form = {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": [about]}
    logger.info("usage", extra={"tenant": tenant, "is_counted": is_counted, **used, "_aws": form})
