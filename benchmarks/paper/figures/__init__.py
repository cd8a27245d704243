"""The paper's figures and ours, one module each."""
