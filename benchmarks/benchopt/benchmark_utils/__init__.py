"""What the solver files share."""
