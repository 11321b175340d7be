"""Keeps the records of one machine's stores in a SQL database: SQLite, PostgreSQL, MySQL or
MariaDB.
"""
