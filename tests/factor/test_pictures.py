"""Pictures of factor analyses are of what they say."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from isogloss.factor import ComponentChoice, MultiBatteryFA
from isogloss.plotting import plot_component_choice, plot_factor_knowledge
from tests.factor.data import draw_parameters, draw_rows


def test_component_choice():
    held_out = np.array([[-3.0, -3.2], [-2.0, -2.4], [-2.5, -2.5]])
    ax = plot_component_choice(ComponentChoice(np.array([1, 2, 4]), held_out, np.array([9.0, 8.0, 7.0])))
    np.testing.assert_allclose(ax.lines[0].get_ydata(), held_out.mean(axis=1))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "best held-out likelihood: 2",
        "least BIC: 4",
    ]


def test_factor_knowledge(rng):
    model = MultiBatteryFA(2).fit(draw_rows(rng, draw_parameters(rng), 200))
    ax = plot_factor_knowledge(model)
    heights = [bar.get_height() for bar in ax.patches]
    assert [label.get_text() for label in ax.get_xticklabels()] == [*model.view_names_, "all"]
    assert heights[0] == pytest.approx(1 - np.trace(model.posterior_covariance([0])) / 2)
    assert max(heights[:3]) < heights[3] < 1
