"""A variational autoencoder of several views: factor analysis with neural networks instead of loadings.

Training needs PyTorch (``isogloss[torch]``); a trained model needs NumPy only.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
