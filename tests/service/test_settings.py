import dataclasses
import itertools

import pytest

from isogloss.exceptions import SettingsError
from isogloss.service.settings import Settings


def test_the_written_file_says_what_was_meant(tmp_path):
    settings = Settings()
    settings = dataclasses.replace(
        settings,
        server=dataclasses.replace(settings.server, port=9, public_read=False),
        feeds=dataclasses.replace(settings.feeds, urls=['https://a.example/"x"\\', "b"]),
    )
    (tmp_path / "isogloss.toml").write_text(settings.as_toml())
    assert Settings.load(tmp_path / "isogloss.toml") == settings


def test_every_value_has_a_sentence():
    text = Settings().as_toml().splitlines()
    for before, line in itertools.pairwise(text):
        if " = " in line and not line.startswith("#"):
            assert before.startswith("# ")


def test_what_is_left_out_has_its_default(tmp_path):
    (tmp_path / "a.toml").write_text("[server]\nport = 1\n[feeds]\nminutes = 5\n")
    settings = Settings.load(tmp_path / "a.toml")
    assert (settings.server.port, settings.server.host, settings.feeds.minutes) == (1, "127.0.0.1", 5.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[sever]\n", "sever is not a setting; expected one of server, store"),
        ("[server]\nprot = 1\n", r"server\.prot is not a setting"),
        ('[server]\nport = "x"\n', r"server\.port is 'x'; expected a value such as 8470"),
        ("[server]\nport = true\n", r"server\.port is True"),
        ("[server]\nport = -1\n", "no less than 0"),
        ("[limits]\nbody_bytes = 0\n", "limits.body_bytes is 0; expected more than 0"),
        ("[stream]\nwindow_days = 0\n", "stream.window_days is 0.0; expected more than 0"),
        ("[stream]\nwindow_days = nan\n", "stream.window_days is nan; expected a finite number"),
        ("[server]\nstop_seconds = inf\n", "server.stop_seconds is inf; expected a finite number"),
        ("server = 3\n", "expected a table"),
        ("[feeds]\nurls = [1]\n", "expected texts"),
        ("[server\n", "is not TOML"),
        ("\udcff", "is not TOML"),
    ],
)
def test_mistakes_are_named(tmp_path, text, said):
    (tmp_path / "a.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(SettingsError, match=said) as caught:
        Settings.load(tmp_path / "a.toml")
    assert "a.toml" in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(SettingsError, match="isogloss init"):
        Settings.load(tmp_path / "none.toml")


def test_everything_is_kept_by_default():
    store = Settings().store
    assert (store.keep_days, store.prune_without_asking, store.prune_max_percent) == (0, False, 1.0)


def test_settings_under_their_old_names_still_work(tmp_path, caplog):
    (tmp_path / "a.toml").write_text("[store]\nkeep_days = 90\nforget_hours = 12.0\n")
    settings = Settings.load(tmp_path / "a.toml")
    assert (settings.store.keep_days, settings.store.prune_hours) == (90, 12.0)
    assert "store.forget_hours is called prune_hours now" in caplog.text
    (tmp_path / "a.toml").write_text("[store]\nprune_hours = 1.0\nforget_hours = 12.0\n")
    with pytest.raises(SettingsError, match="old name of prune_hours, which is there too"):
        Settings.load(tmp_path / "a.toml")
