"""What every test stands on: an empty home, no keys, no network, one locale, one time zone.

The environment is built from an allow-list, not cleaned by a deny-list: a variable that somebody's machine sets
cannot change a result.
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.offline import sitecustomize as offline

ROOT = Path(__file__).resolve().parent.parent

KEPT = {
    "CI", "COVERAGE_PROCESS_START", "LD_LIBRARY_PATH", "PATH", "PYTHONHASHSEED", "SYSTEMROOT", "TEMP", "TMP",
    "TMPDIR",
}  # fmt: skip
KEPT_PREFIXES = ("PYTEST_", "HYPOTHESIS_")

FIXED = {
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "xterm-256color",
    "COLORTERM": "truecolor",
    "SHELL": "/bin/sh",
    "USER": "tester",
    "LOGNAME": "tester",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "init.defaultBranch",
    "GIT_CONFIG_VALUE_0": "main",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "Tester",
    "GIT_AUTHOR_EMAIL": "tester@example.invalid",
    "GIT_COMMITTER_NAME": "Tester",
    "GIT_COMMITTER_EMAIL": "tester@example.invalid",
}

settings.register_profile("dev", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "ci",
    parent=settings.get_profile("dev"),
    derandomize=True,
    database=None,
    print_blob=True,
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_configure() -> None:
    """Before any test module is imported: a library may read the environment while it loads."""
    for name in list(os.environ):
        if name not in KEPT and not name.startswith(KEPT_PREFIXES):
            del os.environ[name]
    os.environ.update(FIXED)
    time.tzset()
    os.umask(0o022)
    sys.dont_write_bytecode = False


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's home of this one test, empty; the test starts in the folder ``project`` below it."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TUI_AGENT_HOME", str(home / "tui-agent"))
    monkeypatch.setenv("PYTHONPATH", str(Path(offline.__file__).parent))  # children stay inside as well
    for name, folder in {
        "XDG_CONFIG_HOME": ".config",
        "XDG_DATA_HOME": ".local/share",
        "XDG_STATE_HOME": ".local/state",
        "XDG_CACHE_HOME": ".cache",
        "XDG_RUNTIME_DIR": ".run",
    }.items():
        monkeypatch.setenv(name, str(home / folder))
    project = home / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return home


@pytest.fixture(autouse=True)
def offline_test() -> Iterator[None]:
    """Fail a test that tried to leave this machine, even where a library swallowed the refusal."""
    offline.refused.clear()
    yield
    assert offline.refused == [], "a test tried to reach another machine"
