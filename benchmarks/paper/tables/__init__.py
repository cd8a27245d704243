"""The paper's tables, one module each."""
