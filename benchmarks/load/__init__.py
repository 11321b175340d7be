"""Benchmarks of calls as conversations grow, of races, of cold starts, and of sizes."""
