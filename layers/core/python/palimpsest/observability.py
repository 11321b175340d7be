"""Logs and metrics of a function. Their messages are constant and have fields. They hold neither
stored texts nor keys.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from aws_lambda_powertools import Logger

logger = Logger(use_rfc3339=True, utc=True)
NAMESPACE = "Palimpsest"


def log_usage(tenant: str, used: Mapping[str, int], *, is_counted: bool = True) -> None:
    """Log the usage as metrics, in CloudWatch's embedded format.

    A metric counts the whole stage, because a metric for each tenant would cost too much. The log
    line names the tenant. `is_counted` is false if the usage was not added to the stored counts.
    """
    metrics = [{"Name": name, "Unit": "Count"} for name in used]
    about = {"Namespace": NAMESPACE, "Dimensions": [["service"]], "Metrics": metrics}
    form = {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": [about]}
    logger.info("usage", extra={"tenant": tenant, "is_counted": is_counted, **used, "_aws": form})
