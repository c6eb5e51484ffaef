import itertools

import pytest

from isogloss.exceptions import SettingsError
from isogloss.service.settings import FeedSettings, ServerSettings, Settings


def test_the_written_file_says_what_was_meant(tmp_path):
    settings = Settings(
        server=ServerSettings(port=9, public_read=False),
        feeds=FeedSettings(urls=['https://a.example/"x"\\', "b"]),
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
        ("[sever]\n", "sever is not a setting; expected server$"),
        ("[zzz]\n", "zzz is not a setting; expected one of server, store"),
        ("[server]\nprot = 1\n", r"server\.prot is not a setting; expected port$"),
        ("[server]\nfax = 1\n", r"server\.fax is not a setting; expected one of host, port"),
        ('[server]\nport = "x"\n', r"server\.port is 'x'; expected a value such as 8470"),
        ("[server]\nport = true\n", r"server\.port is True"),
        ("[server]\nport = -1\n", "0 or more"),
        ("[limits]\nbody_bytes = 0\n", "limits.body_bytes is 0; expected more than 0"),
        ("[stream]\nwindow_days = 0\n", "stream.window_days is 0; expected more than 0"),
        ("[stream]\nwindow_days = nan\n", "stream.window_days is nan; expected a finite number"),
        ("[server]\nstop_seconds = inf\n", "server.stop_seconds is inf; expected a finite number"),
        ("server = 3\n", "expected a table"),
        ('[server]\npublic_read = "no"\n', r"server\.public_read is 'no'; expected a value such as true"),
        ('[feeds]\nurls = "a"\n', r"feeds\.urls is 'a'; expected a value such as \[\]"),
        ("[feeds]\nurls = [1]\n", "feeds.urls has 1; expected strings"),
        ("[server\n", "is not valid TOML"),
        ("\udcff", "is not valid TOML"),
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
    assert "forget_hours has been renamed to prune_hours" in caplog.text
    (tmp_path / "a.toml").write_text("[store]\nprune_hours = 1.0\nforget_hours = 12.0\n")
    with pytest.raises(SettingsError, match="store has both prune_hours and forget_hours, its former name"):
        Settings.load(tmp_path / "a.toml")


def test_the_environment_overrides_the_file(tmp_path, monkeypatch):
    (tmp_path / "a.toml").write_text('[server]\nport = 1\nhost = "::1"\n')
    for name, value in {
        "SERVER__PORT": "9",
        "SERVER__NAMES": '["a.example", "b"]',
        "SERVER__PUBLIC_READ": "false",
        "STORE__PLACE": "123",
        "STREAM__WINDOW_DAYS": "2.5",
        "NUM_THREADS": "1",
    }.items():
        monkeypatch.setenv(f"ISOGLOSS_{name}", value)
    settings = Settings.load(tmp_path / "a.toml")
    assert settings.server == ServerSettings(host="::1", port=9, names=["a.example", "b"], public_read=False)
    assert settings.store.place == "123"
    assert settings.stream.window_days == Settings.load().stream.window_days == 2.5
    assert Settings().server.port == 8470


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SERVER__PORT", "x", "is 'x'; expected a value such as 8470"),
        ("SERVER__PORT", "-1", "is -1; expected 0 or more"),
        ("SERVER__STOP_SECONDS", "inf", "is inf; expected a finite number"),
        ("SERVER__NAMES", "a", r"is 'a'; expected a value such as \[\]"),
        ("SERVER__TRUSTED_PROXIES", '["a"]', "has 'a'; expected an address"),
        ("SERVER__PROT", "1", "is not a setting; expected port$"),
        ("SEVER__PORT", "1", "is not a setting; expected ISOGLOSS_SECTION__NAME with SERVER$"),
        ("SERVER", "1", "is 1; expected a table"),
    ],
)
def test_mistakes_of_the_environment_are_named(monkeypatch, tmp_path, name, value, said):
    monkeypatch.setenv(f"ISOGLOSS_{name}", value)
    (tmp_path / "a.toml").write_text("[server]\nport = 1\n")
    with pytest.raises(SettingsError, match=f"^ISOGLOSS_{name} {said}"):
        Settings.load(tmp_path / "a.toml")
