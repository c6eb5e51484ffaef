"""Battery factor analysis: one latent vector explains every view, seen or missing.

=============== ==================================================================
``battery``     any number of views
``inter``       two views
``base``        what a fitted model can do: factors, predictions, densities
``selection``   the number of factors, by held-out likelihood and BIC
``parameters``  means, loadings, noise
``noise``       full, diagonal and isotropic noise
``units``       views made alike
``data``        rows as EM sees them: moments per presence pattern
``steps``       the E- and M-step
``accelerated`` longer M-steps for complete rows
``one_view``    the best parameters of a view given the others
``start``       where a fit begins; the closed form for two views
``inference``   posteriors and conditionals, as functions of parameters
``collect``     sums over rows, wherever they are
=============== ==================================================================
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
