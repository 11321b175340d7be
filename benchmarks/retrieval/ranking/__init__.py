"""Trains recall's ranker on the labelled sets, and judges it on conversations that it has not seen."""
