"""What is solved: embedded tables, families of hard problems, files for other solvers."""
