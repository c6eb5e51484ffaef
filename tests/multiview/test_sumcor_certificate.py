"""The certificate that comes with a SUMCOR fit."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from isogloss.multiview import SumCor
from isogloss.views import Views


def small_views(rng, n_views=4, rows=60):
    shared = rng.normal(size=(rows, 1))
    return Views([shared @ rng.normal(size=(1, 3)) + rng.normal(size=(rows, 3)) for _ in range(n_views)])


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_its_value_is_the_objective_and_its_bound_is_above_every_start(rng, ridge):
    model = SumCor(1, n_init=30, ridge=ridge, random_state=0).fit(small_views(rng))
    certificate = model.certificate_
    assert certificate.correlations(certificate.value) == pytest.approx(model.objective_, rel=1e-8)
    assert certificate.correlations(certificate.bound) >= model.start_objectives_.max() - 1e-9
    assert certificate.globally_optimal


def test_a_poor_solution_is_not_called_optimal(rng):
    model = SumCor(1, random_state=0).fit(small_views(rng))
    model.weights_ = [rng.normal(size=w.shape) for w in model.weights_]
    certificate = model.certificate_
    assert not certificate.globally_optimal
    assert certificate.gap > 0.01


def test_several_components_by_horst_certify_the_first(rng):
    views = small_views(rng)
    first = SumCor(1, algorithm="horst", n_init=10, random_state=0).fit(views)
    both = SumCor(2, algorithm="horst", n_init=10, random_state=0).fit(views)
    np.testing.assert_allclose(both.certificate_.bound, first.certificate_.bound, rtol=1e-9)
    assert both.certificate_.globally_optimal


def test_needs_a_fit_and_moments(rng):
    with pytest.raises(NotFittedError):
        SumCor().certificate_  # noqa: B018
    model = SumCor(1, ridge=0.1, solver="operator", random_state=0).fit(small_views(rng))
    with pytest.raises(AttributeError, match="certify"):
        model.certificate_  # noqa: B018
