"""The paper's tables and figures and those of our own, by what they are about."""
