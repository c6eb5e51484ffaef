"""The alignment matrix with matplotlib."""

import pytest

from isogloss.alignment import AlignmentPicture

pytest.importorskip("matplotlib")
from isogloss.plotting import plot_alignment


def test_words_links_and_gold_are_drawn():
    picture = AlignmentPicture(
        ["the", "house"],
        ["la", "maison"],
        [(0, 0), (1, 1)],
        posterior=[[0.9, 0], [0, 0.5]],
        sure=[(0, 0)],
        possible=[(0, 1)],
    )
    ax = plot_alignment(picture)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["la", "maison"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["the", "house"]
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines] == [(0, 0), (1, 1)]
    assert [patch.get_linestyle() for patch in ax.patches] == ["-", "--"]
    assert ax.images[0].get_array().tolist() == [[0.9, 0], [0, 0.5]]
