"""``python -m isogloss`` is the ``isogloss`` command."""

from isogloss.cli import main

if __name__ == "__main__":
    main()
