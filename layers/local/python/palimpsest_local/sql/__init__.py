"""Records of one machine's stores in a SQL database: a file of SQLite, PostgreSQL, MySQL."""
