"""
How many factors, how fast, and what each view knows
====================================================

Three views of four hidden variables; a third of each view is missing.
"""

# %%
# The rows.

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from isogloss.factor import MultiBatteryFA, choose_components
from isogloss.plotting import plot_component_choice, plot_factor_knowledge, plot_traces
from isogloss.views import Views

rng = np.random.default_rng(0)
z = rng.normal(size=(1500, 4))
noise = {"en": 0.7, "de": 1.5, "sl": 3.0}
data = {name: z @ rng.normal(size=(4, 12)) + s * rng.normal(size=(1500, 12)) for name, s in noise.items()}
views = Views(data, present=rng.random((1500, 3)) > 0.33)

# %%
# The number of factors, by the likelihood of rows that were kept aside.

choice = choose_components(MultiBatteryFA(), views, range(1, 8))
plot_component_choice(choice)

# %%
# What is known of the factors once a view is seen: the noisier the view, the less.

model = MultiBatteryFA(choice.best).fit(views)
plot_factor_knowledge(model)

# %%
# Plain EM creeps where factors are weak. Putting every view in turn at its maximum given the others, and
# extrapolating, reaches the same likelihood in a fraction of the steps.

strengths = np.linspace(1.0, 0.1, 10)
weak = rng.normal(size=(4000, 10)) @ (strengths[:, None] * rng.normal(size=(10, 60)))
mixed = np.hstack([rng.normal(size=(4000, 20)) @ rng.normal(size=(20, 20)) / np.sqrt(20) for _ in range(3)])
rows = Views(np.split(weak + mixed, 3, axis=1))
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    plain = MultiBatteryFA(10, accelerate=False, tol=1e-6, max_iter=1000).fit(rows)
    fast = MultiBatteryFA(10, tol=1e-6).fit(rows)
plot_traces({"plain EM": plain.trace_, "one view at a time, SQUAREM": fast.trace_}, gap=True)
