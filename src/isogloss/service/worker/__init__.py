"""The worker, which turns the journal into events.

A ``WorkerProcess`` runs a ``JournalProcessor`` in a subprocess: it reads the journal, folds articles into the
event stream, writes changes to the read model and saves checkpoints. A ``LeasedWorker`` runs it while it
holds the ``Lease`` of the store, and a ``RetentionWorker`` prunes old stories next to it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
