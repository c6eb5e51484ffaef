"""Directed graphical models over discrete variables.

What learns from data is imported when it is first asked for, so that a network can be opened and asked
questions at once.

=====================  ==================================================================
``variables``          a variable and its states
``table``              numbers with named axes
``cpd``                the distribution of a variable given its parents
``structure``          directed acyclic graphs
``network``            a graph with its distributions
``rows``               observations as codes
``examples``           networks of the literature
``independence``       d-separation, open trails in words, Markov blankets
``statements``         local and global independencies, I-maps
``inference``          exact answers: posteriors, most probable states, likelihoods
``most_probable``      the best states, by elimination
``batched``            posteriors of many rows with different evidence
``kinds``              rows sorted by what is hidden together
``plans``              compiled questions
``relevance``          which tables a question needs
``contraction``        products of tables along an optimised path
``junction``           calibrated junction trees
``sampling``           forward sampling, likelihood weighting
``learning``           probabilities from rows, by counting and by EM
``family_counts``      the counts that learning adds up
``em_steps``           the E- and M-step over distinct cases
``layout``             all tables of a network as one vector
``scores``             comparing graphs: BIC, BDeu
``trees``              the tree that fits best
``ngram``              n-gram language models
``backoff``            their probabilities, by backing off
``smoothing``          maximum likelihood, add-k, Kneser-Ney
``arpa``               language models in ARPA files
``hmm``                hidden Markov models
``hmm_steps``          their E- and M-step
``sequences``          sequences of symbols as codes
``unrolled``           sequence models as networks
``latent_class``       a hidden or partly known class
``naive_bayes``        the classifier
``bernoulli_mixture``  clusters of binary rows
``lexical_graph``      IBM Model 1 as a network
``network_files``      networks in files of any kind
``bif``                the Bayesian Interchange Format
``xmlbif``             the same in XML
``reading``            what the readers share
``render``             pictures: text, SVG, HTML, LaTeX
``drawing``            where the nodes of a picture are
``latex``              TikZ and tabulars
``markup``             names in LaTeX and XML
=====================  ==================================================================
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
