"""The commands that train, measure and reproduce."""
