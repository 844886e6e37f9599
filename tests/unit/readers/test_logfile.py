"""The three pipelines: who gets which records, and that none of them disturbs anybody."""

from __future__ import annotations

import io
import json
import logging
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tui_agent.readers.logfile import JsonFile, console_handler, human_handler, pipelines, write_trace
from tui_agent.readers.trace import HUMAN


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger("tui_agent.test")
    yield logger
    logger.setLevel(logging.NOTSET)


def entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_pipeline_takes_its_share(tmp_path: Path, logger: logging.Logger) -> None:
    human, console = io.StringIO(), io.StringIO()
    path = tmp_path / "state" / "log.jsonl"
    with pipelines([JsonFile(path), human_handler(human), console_handler(console)]):
        write_trace(logger, ["🔄 Step 1", "", "   ✓ OK"])
        logger.info("looked")
        logger.warning("slow: %s", "\x1b[31m\nnext")
    assert human.getvalue() == "🔄 Step 1\n\n   ✓ OK\n"
    assert console.getvalue() == "warning tui_agent.test: slow: \\x1b[31m ↵ next\n"
    written = entries(path)
    assert [entry["level"] for entry in written] == ["HUMAN", "HUMAN", "HUMAN", "INFO", "WARNING"]
    assert written[0]["text"] == "🔄 Step 1"
    assert "\x1b" not in path.read_text()


@pytest.mark.parametrize(("verbosity", "levels"), [(0, "w"), (1, "iw"), (2, "diw"), (9, "diw")])
def test_verbosity_of_the_console(logger: logging.Logger, verbosity: int, levels: str) -> None:
    console = io.StringIO()
    with pipelines([console_handler(console, verbosity)], logging.DEBUG):
        logger.debug("d")
        logger.info("i")
        logger.log(HUMAN, "human")
        logger.warning("w")
    assert "".join(line[-1] for line in console.getvalue().splitlines()) == levels


def test_the_file_is_the_owners_alone_also_after_rotation(tmp_path: Path, logger: logging.Logger) -> None:
    path = tmp_path / "state" / "log.jsonl"
    path.parent.mkdir()
    path.touch(0o644)
    with pipelines([JsonFile(path, most_bytes=400, backups=2)]):
        for number in range(20):
            logger.info("line %d", number)
    files = sorted(tmp_path.glob("state/*"))
    assert [file.name for file in files] == ["log.jsonl", "log.jsonl.1", "log.jsonl.2"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert all(file.stat().st_size <= 400 for file in files)
    assert entries(path)[-1]["text"] == "line 19"


def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path, logger: logging.Logger) -> None:
    path = tmp_path / "log.jsonl"
    path.touch(0o644)
    with pipelines([JsonFile(path)]):
        logger.info("line")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_instance_follows_when_another_one_rotates(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    ours, theirs = JsonFile(path), JsonFile(path)
    ours.emit(logging.makeLogRecord({"msg": "before"}))
    theirs.doRollover()
    ours.emit(logging.makeLogRecord({"msg": "after"}))
    assert [entry["text"] for entry in entries(path)] == ["after"]
    assert [entry["text"] for entry in entries(tmp_path / "log.jsonl.1")] == ["before"]
    ours.close()
    theirs.close()


def test_credentials_stay_out(tmp_path: Path, logger: logging.Logger) -> None:
    path = tmp_path / "log.jsonl"
    with pipelines([JsonFile(path, lambda text: text.replace("sk-secret", "***"))]):
        try:
            raise ValueError("bad key sk-secret")
        except ValueError:
            logger.exception(
                "with sk-secret", extra={"header": {"authorization": "Bearer sk-secret"}, "status": 401}
            )
    (entry,) = entries(path)
    assert "sk-secret" not in path.read_text()
    assert entry["text"] == "with ***"
    assert entry["status"] == 401
    assert "bad key ***" in entry["traceback"]


def test_a_log_that_cannot_be_written_disturbs_nobody(
    tmp_path: Path, logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = io.StringIO()
    (tmp_path / "log.jsonl").mkdir()
    with pipelines([JsonFile(tmp_path / "log.jsonl"), human_handler(gone), console_handler(gone)]):
        gone.close()
        logger.log(HUMAN, "line")
        logger.error("bad %d", "not a number")
    assert capsys.readouterr() == ("", "")


def test_handlers_of_before_come_back(tmp_path: Path) -> None:
    root = logging.getLogger()
    before = list(root.handlers), root.level
    with pipelines([JsonFile(tmp_path / "log.jsonl")], logging.DEBUG):
        assert root.level == logging.DEBUG
        assert [type(handler) for handler in root.handlers] == [JsonFile]
    assert (root.handlers, root.level) == before
