"""What litellm does unasked is off: nothing is read from a project's ``.env``, fetched, printed or left in the environment."""

import os
import subprocess
import sys
from pathlib import Path

from tests.fakes.fake_llm import FakeLLM, say

PROGRAM = """
import asyncio, logging, os, sys, sitecustomize
from tui_agent.core.messages import user
from tui_agent.llm.api import ModelSpec, Reply, Request
from tui_agent.llm.litellm_model import LitellmModel

async def main():
    model = LitellmModel()
    model.preload()
    spec = ModelSpec(name="openai/llama-3-fake", api_base=sys.argv[1])
    request = Request(model=spec, system="s", messages=(user("u", "hi"),))
    async for piece in model.stream(request):
        if isinstance(piece, Reply):
            print(piece.parts[0].text)
    try:
        async for piece in model.stream(Request(model=spec, system="s", messages=(user("u", "hi"),))):
            pass
    except Exception as error:
        print(type(error).__name__)
    logging.getLogger("LiteLLM").warning("noise")
    await model.close()
    print("OPENAI_API_KEY" in os.environ, "OPENAI_BASE_URL" in os.environ, "litellm" in sys.modules)
    print(sorted(name for name in os.environ if name.startswith(("LITELLM", "REPEATED"))))

asyncio.run(main())
print(sitecustomize.refused)
"""


def test_a_projects_env_file_is_not_read_and_nothing_is_printed(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-stolen\nOPENAI_BASE_URL=http://127.0.0.1:1/evil\n")
    root = str(Path(__file__).resolve().parents[2])
    environ = {
        **os.environ,
        "PYTHONPATH": f"{os.environ['PYTHONPATH']}:{root}",
        "PYTHONWARNINGS": "default::ResourceWarning",
    }
    with FakeLLM([say("hello")]) as fake:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, fake.openai_base],
            cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.stderr == ""
        assert done.stdout.splitlines() == [
            "hello", "ModelError", "False False True", "['LITELLM_OFFLINE_MODE']", "[]",
        ]  # fmt: skip
        assert fake.hits == ["POST /v1/chat/completions"] * 2
