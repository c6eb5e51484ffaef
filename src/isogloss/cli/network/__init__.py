"""``isogloss network`` and its sub-commands."""
