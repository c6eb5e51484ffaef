"""``isogloss demo`` and its sub-commands."""
