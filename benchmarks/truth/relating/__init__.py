"""Trains how a new statement is related to a known one, and judges it on sets that were left out."""
