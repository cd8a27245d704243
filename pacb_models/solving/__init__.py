"""From a problem to a solution: choose a method, merge equal classifiers, run it, judge what it returns."""
