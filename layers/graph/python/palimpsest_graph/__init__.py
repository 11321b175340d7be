"""Queries in Cypher over a user's graph. This package has the parser, and the engine that answers
the queries.
"""
