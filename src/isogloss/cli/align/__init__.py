"""``isogloss align`` and its sub-commands."""
