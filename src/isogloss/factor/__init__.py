"""Factor analysis of several views ("batteries"): one latent vector explains what the views share.

:class:`MultiBatteryFA` fits any number of views, with rows that lack views, by EM on moments.
:class:`InterBatteryFA` is the closed form for two views. :func:`choose_components` selects the number of
factors by held-out likelihood or BIC. Fitted models give posteriors, conditionals and densities for any set
of observed views. :class:`MultiViewVAE` has neural networks in place of loadings.

Private modules: ``_data`` summarises rows as moments per presence pattern, ``_steps`` and ``_accelerated``
are the EM steps, ``_start`` initialises them, and ``_inference`` computes posteriors from parameters.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
