"""Logs and metrics of a function: constant messages with fields, never a stored text, never a key."""

from __future__ import annotations

from aws_lambda_powertools import Logger

logger = Logger(use_rfc3339=True, utc=True)
