"""The paper's experiment: data sets, protocols, training, and the risk tables that come of it."""
