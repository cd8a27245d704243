"""The paper's tables and figures, and the numbers it prints."""
