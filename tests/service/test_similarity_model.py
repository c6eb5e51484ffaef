"""Events of a store are made with the model they were begun with, and with no other."""

import dataclasses
import logging

import pytest

pytest.importorskip("fastapi")

from rich.progress import Progress
from starlette.testclient import TestClient

from isogloss import io
from isogloss.cli.store._make_events import make_events
from isogloss.events.annotate import ConceptDictionary
from isogloss.events.annotate.concepts._dictionary import ConceptPhrase, write_concepts
from isogloss.events.link import Linker
from isogloss.exceptions import CorpusError, ModelFileError, SettingsError
from isogloss.service.app import create_app
from isogloss.service.models import (
    Models,
    SimilarityModel,
    concepts_for_events,
    linker_for_events,
    linker_in_use,
    model_for_events,
)
from isogloss.service.settings import ModelSettings, Settings
from isogloss.service.worker import JournalProcessor, StreamFactory
from isogloss.store import Store
from tests.service import data


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "news.db") as store:
        store.add(data.ARTICLES)
        yield store


@pytest.fixture
def settings(tmp_path):
    """Settings that name a model."""
    path = tmp_path / "small.isogloss"
    io.save(data.models().similarity, path)
    return Settings(models=ModelSettings(similarity=str(path)))


def made(store, settings, **how):
    with Progress(disable=True) as progress:
        assert make_events(store, settings, progress, **how)


def points(store, model):
    """Points of articles in the common space, as the saved state has them."""
    stream = StreamFactory(model=model)(store.latest_checkpoint()[1])
    return [one.latent for one in stream.links.articles.values()]


def test_events_are_made_with_the_model_of_the_settings(store, settings):
    made(store, settings)
    found = SimilarityModel.load(settings.models, store)
    assert all(point is not None for point in points(store, found.model))
    assert model_for_events(store, found) is found.model


def test_without_a_model_in_the_settings_there_is_none(store):
    made(store, Settings())
    assert all(point is None for point in points(store, None))
    assert model_for_events(store, SimilarityModel()) is None


def test_events_started_without_a_model_continue_without(store, settings, caplog):
    made(store, Settings())
    store.add([data.article(9, "en", "Storm Ottilie is over", "en2w1 en2w3", 4)])
    with caplog.at_level(logging.WARNING):
        made(store, settings)
    assert "doctor --rebuild" in caplog.text
    assert all(point is None for point in points(store, None))


@pytest.mark.usefixtures("warm_processes")
def test_another_model_is_refused_until_a_rebuild(store, settings):
    made(store, settings)
    before = store.position()
    with pytest.raises(SettingsError, match="doctor --rebuild"):
        made(store, Settings())
    assert store.position() == before
    made(store, Settings(), rebuild=True)
    assert model_for_events(store, SimilarityModel()) is None
    made(store, settings, rebuild=True)
    assert all(point is not None for point in points(store, data.models().similarity))


def test_a_model_may_change_while_there_are_no_events(store, settings):
    assert model_for_events(store, SimilarityModel()) is None
    found = SimilarityModel.load(settings.models, store)
    assert model_for_events(store, found) is found.model
    JournalProcessor(store, StreamFactory(model=found.model)).catch_up()
    with pytest.raises(SettingsError, match="another similarity model"):
        model_for_events(store, dataclasses.replace(found, digest="1" * 64))


def test_answers_are_made_with_the_same_model(store, settings):
    models = Models.load(settings.models, store)
    assert models.digest == SimilarityModel.load(settings.models, store).digest
    assert models.similarity.languages == data.models().similarity.languages


@pytest.mark.parametrize("kind", ["nothing", "another kind", "no name"])
def test_a_file_of_another_kind_is_refused(store, tmp_path, kind):
    place = tmp_path / "x.isogloss"
    if kind == "another kind":
        io.save(data.models().aligners["en", "de"], place)
    with pytest.raises(Exception, match=r"cannot be|holds a|no model|no such|not found") as caught:
        SimilarityModel.load(ModelSettings(similarity="store:x" if kind == "no name" else str(place)), store)
    assert type(caught.value).__module__ == "isogloss.exceptions"


@pytest.fixture
def with_concepts(tmp_path):
    """Settings that name a concept dictionary, which knows a word of the articles."""
    write_concepts(tmp_path / "concepts", {"en": [ConceptPhrase(("storm",), "en:Storm", 1.0)]}, ())
    return Settings(models=ModelSettings(concepts=str(tmp_path / "concepts")))


def test_events_are_made_with_the_concepts_of_the_settings(store, with_concepts):
    made(store, with_concepts)
    found = concepts_for_events(store, with_concepts.models)
    assert found.digest == ConceptDictionary(with_concepts.models.concepts).digest
    stream = StreamFactory(concepts=found)(store.latest_checkpoint()[1])
    assert any("concept:en:Storm" in one.keywords for one in stream.links.articles.values())


def test_other_concepts_are_refused_until_a_rebuild(store, with_concepts, caplog):
    made(store, Settings())
    with caplog.at_level(logging.WARNING):
        assert concepts_for_events(store, with_concepts.models) is None
    assert "models.concepts" in caplog.text
    made(store, with_concepts, rebuild=True)
    with pytest.raises(SettingsError, match=r"another concept dictionary than models\.concepts"):
        made(store, Settings())


def test_a_folder_without_concepts_is_refused(store, tmp_path):
    with pytest.raises(CorpusError, match="is not a concept dictionary"):
        concepts_for_events(store, ModelSettings(concepts=str(tmp_path / "none")))


@pytest.mark.usefixtures("warm_processes")
def test_events_are_made_with_the_linker_of_the_settings_after_a_rebuild(store, tmp_path, caplog):
    path = tmp_path / "linker.isogloss"
    linker = Linker.default()
    io.save(linker, path)
    settings = Settings(models=ModelSettings(linker=str(path)))
    made(store, Settings())
    assert linker_in_use(store, settings.models) == ("built-in", linker)
    with caplog.at_level(logging.WARNING):
        assert linker_for_events(store, settings.models) is None
    assert "models.linker" in caplog.text
    made(store, settings, rebuild=True)
    assert isinstance(linker_for_events(store, settings.models), Linker)
    assert linker_in_use(store, settings.models)[0] == str(path)
    with pytest.raises(SettingsError, match=r"another linker than models\.linker"):
        made(store, Settings())


def test_a_file_without_a_linker_is_refused(store, tmp_path):
    with pytest.raises(ModelFileError):
        linker_for_events(store, ModelSettings(linker=str(tmp_path / "none.isogloss")))


def test_a_linker_whose_file_is_gone_is_listed_with_the_problem(store, tmp_path):
    settings = Settings(models=ModelSettings(linker=str(tmp_path / "gone.isogloss")))
    with TestClient(create_app(settings, store), base_url="http://127.0.0.1") as client:
        (linker,) = [each for each in client.get("/api/v1/models").json() if each["use"] == "linker"]
        assert "gone.isogloss" in linker["details"]["problem"]
        assert client.get("/models").status_code == 200
