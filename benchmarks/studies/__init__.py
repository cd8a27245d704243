"""Experiments of one question each."""
