"""What is measured: problems, the harness, the paper's tables, speed."""
