"""Pictures of Bayesian networks: text, SVG, HTML and LaTeX."""
