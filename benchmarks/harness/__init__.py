"""Suites, the runner with its measuring processes, and the log of results."""
