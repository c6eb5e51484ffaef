"""Documents of many languages in one space.

================  ========================================================================
``base``          what all models share: text in, vectors of one common space out
``hub``           hub CCA, for many languages with documents missing
``cca``           CCA of two languages
``lsi``           cross-lingual LSI, plain and with pseudo-inverses
``kmeans``        coordinates in centroids of clusters
``star``          hub CCA one language at a time
``spokes``        its step 1, over blocks of rows
``consensus``     agreement of all languages in the place of the hub
``plan``          memory and time of a fit, before it starts
``speeds``        what this machine does in a second, in trials of the shape of a fit
``spaces``        words and weights of one language
``shards``        weighted documents by blocks of rows, in memory, on disk or on a cluster
``scarce``        languages with few documents
``proxy``         the similarity of two languages as a bilinear form
``encoder``       sentence encoders as a model and to rank again
``encoder_view``  an encoder as one more view of hub CCA
``extra_views``   vectors beside words as views of hub CCA
``collection``    what all indexes share
``index_graph``   approximate search in large collections
``graph_links``   the graph of such an index as plain arrays
``index``         exact nearest documents in a collection that changes
``together``      one question to several indexes at once
``search``        the nearest documents to a text in every language, and why
``topics``        the strongest words of components, in every language
``names``         names, numbers and dates: what needs no learning
``combined``      a latent model and names together, with learned weights
``retrieval``     mate retrieval: how far up documents find their other versions
``drift``         whether the two sides of a pair of languages tell as much
================  ========================================================================
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
