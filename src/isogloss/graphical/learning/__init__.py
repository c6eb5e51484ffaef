"""Learning Bayesian networks: parameters by counts or EM, trees, latent classes, naive Bayes."""
