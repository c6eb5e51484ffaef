"""Maps of documents."""

from xml.etree import ElementTree

import numpy as np
import pytest

from isogloss.plotting import DocumentMap, documents_html, documents_svg, map_documents, plot_documents

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def projected():
    """Three subjects in three languages."""
    rng = np.random.default_rng(0)
    about = np.repeat(np.eye(3, 6), 12, axis=0)
    return {lang: about + 0.05 * rng.standard_normal(about.shape) for lang in ("en", "de", "ru")}


@pytest.mark.parametrize("method", ["tsne", "pca"])
def test_documents_of_one_subject_lie_together_whatever_their_language(projected, method):
    found = map_documents(projected, method=method)
    subject = found.lines // 12
    centres = np.stack([found.points[subject == s].mean(axis=0) for s in range(3)])
    nearest = np.linalg.norm(found.points[:, None] - centres, axis=2).argmin(axis=1)
    assert (nearest == subject).all()
    assert np.bincount(found.language).tolist() == [36, 36, 36]


def test_the_same_seed_gives_the_same_map(projected):
    one, two = (map_documents(projected, max_documents=50, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one.points, two.points)
    np.testing.assert_array_equal(one.lines, two.lines)
    assert not np.array_equal(one.lines, map_documents(projected, max_documents=50, random_state=4).lines)


def test_languages_keep_their_shares_and_empty_documents_are_left_out():
    rng = np.random.default_rng(1)
    large, small = rng.standard_normal((90, 4)), rng.standard_normal((30, 4))
    large[:10] = 0
    found = map_documents({"en": large, "de": small}, method="pca", max_documents=55)
    assert np.bincount(found.language).tolist() == [40, 15]
    assert found.lines[found.language == 0].min() >= 10


def test_each_document_is_a_mark_with_its_title(projected):
    found = map_documents(projected, method="pca")
    titles = {lang: [f"<{lang}> & {line}" for line in range(36)] for lang in projected}
    root = ElementTree.fromstring(documents_svg(found, titles))
    marks = root.find(f"{SVG}g[@class='points']")
    said = sorted(title.text for title in marks.iter(f"{SVG}title"))
    assert said == sorted(f"{lang}: <{lang}> & {line}" for lang in projected for line in range(36))
    legend = [text.text for text in root.find(f"{SVG}g[@class='legend']").iter(f"{SVG}text")]
    assert legend == ["en", "de", "ru"]
    for circle in marks:
        assert 0 <= float(circle.get("cx")) <= 720
        assert 0 <= float(circle.get("cy")) <= 720
    assert "<script>" not in documents_html(found, heading="<script>")


def test_more_languages_than_colours_have_other_shapes():
    points = np.random.default_rng(0).standard_normal((10, 2))
    found = DocumentMap(points, tuple("abcdefghij"), np.arange(10), np.zeros(10, dtype=np.int64))
    marks = ElementTree.fromstring(documents_svg(found)).find(f"{SVG}g[@class='points']")
    looks = {(mark.tag, mark.get("fill")) for mark in marks}
    assert len(looks) == 10


def test_matplotlib_draws_a_cloud_for_each_language(projected):
    pytest.importorskip("matplotlib")
    ax = plot_documents(map_documents(projected, method="pca"))
    assert [cloud.get_label() for cloud in ax.collections] == ["en", "de", "ru"]
    assert sum(len(cloud.get_offsets()) for cloud in ax.collections) == 108


def test_wrong_use_is_refused():
    with pytest.raises(ValueError, match="method='umap'"):
        map_documents({"en": np.eye(4)}, method="umap")
    with pytest.raises(ValueError, match="2 documents with a known word"):
        map_documents({"en": [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]})
