"""Methods that ask of a bound only its value and its slopes."""
