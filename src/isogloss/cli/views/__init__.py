"""``isogloss views``: models of several views of the same rows, from tables."""
