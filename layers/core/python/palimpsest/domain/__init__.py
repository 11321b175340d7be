"""The rules of conversation memory as pure functions over plain data: no engine, no clock, no environment."""
