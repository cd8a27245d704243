"""From data to risks: data sets, the SVM ensembles of the paper, and the error counts the bounds are computed from."""
