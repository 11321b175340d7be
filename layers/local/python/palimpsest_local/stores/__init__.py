"""The stores of one machine. They keep their records on shelves: in this process, or in a database
(`palimpsest_local.sql`).
"""
