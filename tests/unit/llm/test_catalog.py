import subprocess
import sys
from pathlib import Path

import pytest

from tui_agent.config.sections import Config, ModelEntry, Price
from tui_agent.core.errors import ConfigError
from tui_agent.llm import catalog
from tui_agent.llm.api import ReportedUsage

LOOPBACK = "http://127.0.0.1:8080/v1"
CONFIG = Config(
    models={
        "fast": ModelEntry(name="openai/gpt-5-mini", reasoning_effort="low"),
        "local": ModelEntry(
            name="openai/qwen", api_base=LOOPBACK + "/", api_key_env="LOCAL_KEY", context_window=32768
        ),
        "proxied": ModelEntry(name="openai/gpt-5-mini", api_base="http://localhost:4000"),
        "priced": ModelEntry(
            name="openai/qwen", api_base=LOOPBACK, price=Price(input=2.0, output=8.0, cached=0.5)
        ),
        "given": ModelEntry(name="openrouter/x/free", price=Price(input=0.0, output=0.0)),
        "bare": ModelEntry(name="qwen3", api_base="http://10.0.0.7:8000/v1"),
    }
)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("gpt-5-mini", "openai/gpt-5-mini"),
        ("gemini-2.5-pro", "gemini/gemini-2.5-pro"),
        ("gpt-99", "openai/gpt-99"),
        ("claude-future-9", "anthropic/claude-future-9"),
        ("openrouter/a/b", "openrouter/a/b"),
        ("fast", "openai/gpt-5-mini"),
        ("bare", "openai/qwen3"),
    ],
)
def test_a_name_becomes_provider_and_model(written: str, name: str) -> None:
    assert catalog.resolve(written, CONFIG).name == name


def test_an_alias_keeps_what_its_entry_says() -> None:
    spec = catalog.resolve("local", CONFIG)
    assert (spec.alias, spec.label) == ("local", "local")
    assert (spec.api_base, spec.api_key_env, spec.window, spec.local) == (LOOPBACK, "LOCAL_KEY", 32768, True)
    assert catalog.resolve("fast", CONFIG).reasoning_effort == "low"


def test_windows_come_from_the_config_then_the_file_and_never_for_local_servers() -> None:
    assert catalog.resolve("claude-sonnet-4-5", CONFIG).window == 200_000
    assert catalog.resolve("openai/never-heard-of", CONFIG).window == 0
    assert catalog.resolve("ollama/llama3", CONFIG).window == 0, (
        "the file says what the model could take, not what is loaded"
    )


def test_prices_are_usd_per_token() -> None:
    spec = catalog.resolve("priced", CONFIG)
    assert (spec.input_price, spec.output_price, spec.cached_price) == (2e-6, 8e-6, 0.5e-6)
    assert catalog.cost(
        spec, ReportedUsage(input=1_000_000, cached=500_000, output=1_000_000)
    ) == pytest.approx(1 + 0.25 + 8)


@pytest.mark.parametrize(
    ("name", "price"),
    [
        ("local", 0.0),
        ("given", 0.0),
        ("ollama/llama3", 0.0),
        ("proxied", 2.5e-7),
        ("openai/never-heard-of", None),
        ("anthropic/claude-sonnet-4-5-20990101", None),
        ("openrouter/anthropic/claude-sonnet-4.5", None),
    ],
)
def test_nothing_costs_zero_unless_it_really_does(name: str, price: float | None) -> None:
    spec = catalog.resolve(name, CONFIG)
    assert spec.input_price == price
    used = ReportedUsage(input=1000, output=10)
    if price is None:
        assert catalog.cost(spec, used) is None
    elif price == 0:
        assert catalog.cost(spec, used) == 0.0


def test_no_row_of_the_file_is_free() -> None:
    assert all(
        model.input_price is None or model.input_price + (model.output_price or 0) > 0
        for model in catalog.known()
    )


def test_an_ollama_server_elsewhere_is_not_local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_BASE", "https://ollama.example")
    spec = catalog.resolve("ollama/llama3", CONFIG)
    assert (spec.local, spec.input_price) == (False, None)


def test_the_providers_own_figure_wins() -> None:
    spec = catalog.resolve("gpt-5-mini", CONFIG)
    assert catalog.cost(spec, ReportedUsage(input=1000, output=10, cost_usd=0.5)) == 0.5
    assert catalog.cost(spec, ReportedUsage(input=1000, output=10, cost_usd=0.0)) == 0.0


def test_reasoning_is_part_of_the_output() -> None:
    spec = catalog.resolve("gpt-5-mini", CONFIG)
    plain = catalog.cost(spec, ReportedUsage(input=10, output=100))
    assert catalog.cost(spec, ReportedUsage(input=10, output=100, reasoning=90)) == pytest.approx(plain)


def test_a_person_who_sets_a_price_sets_it_for_every_size() -> None:
    config = Config(
        models={"g": ModelEntry(name="gemini/gemini-2.5-pro", price=Price(input=1.0, output=1.0))}
    )
    spec = catalog.resolve("g", config)
    assert catalog.cost(spec, ReportedUsage(input=400_000)) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("written", "nearest"),
    [
        ("fasst", "fast"),
        ("gtp-5-mini", "openai/gpt-5-mini"),
        ("foo/claude-sonnet-4-6", "anthropic/claude-sonnet-4-6"),
    ],
)
def test_what_can_be_no_model_names_the_nearest(written: str, nearest: str) -> None:
    with pytest.raises(ConfigError) as caught:
        catalog.resolve(written, CONFIG)
    assert written in str(caught.value)
    assert nearest in str(caught.value)


def test_an_embedding_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="embedding"):
        catalog.resolve("text-embedding-3-small", CONFIG)


@pytest.mark.parametrize("written", ["", "  ", "nonsense-without-slash", "no-provider/model", "openai/"])
def test_nonsense_is_refused(written: str) -> None:
    with pytest.raises(ConfigError):
        catalog.resolve(written, Config())


def test_the_nearest_of_a_provider_stay_with_it() -> None:
    assert catalog.nearest("openai/gpt-5-mni")[0] == "openai/gpt-5-mini"
    assert catalog.nearest("claude-sonet-4-5")[0] == "anthropic/claude-sonnet-4-5"


def test_abilities_are_known_or_unknown() -> None:
    known = catalog.supports(catalog.resolve("claude-sonnet-4-5", CONFIG))
    assert (known.tools, known.vision, known.reasoning, known.cache) == (True, True, True, True)
    unknown = catalog.supports(catalog.resolve("openai/never-heard-of", CONFIG))
    assert (unknown.tools, unknown.vision, unknown.reasoning, unknown.cache) == (None, None, None, None)


def test_the_hidden_change_of_route_is_predicted() -> None:
    assert catalog.supports(catalog.resolve("gpt-5.1-codex", CONFIG)).responses
    assert not catalog.supports(catalog.resolve("gpt-5-mini", CONFIG)).responses


def test_an_alias_of_the_file_has_its_targets_facts() -> None:
    alias, row = next((name, row) for name, row in catalog._rows().items() if row.get("alias_of"))
    found, target = catalog.find(alias), catalog.find(row["alias_of"])
    assert found
    assert target
    assert (found.window, found.input_price) == (target.window, target.input_price)
    assert found.window


def test_the_list_is_sorted_and_can_be_resolved() -> None:
    names = [model.name for model in catalog.known()]
    assert names == sorted(set(names))
    assert len(names) > 3000
    assert not {"sample_spec", "fallback_generalizations"} & {name.rpartition("/")[2] for name in names}
    for name in names[:: len(names) // 100]:
        assert catalog.resolve(name, Config()).name == name


def test_without_litellms_files_names_still_resolve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "_folder", lambda: None)
    for cached in (catalog._rows, catalog.known, catalog.providers):
        monkeypatch.setattr(catalog, cached.__name__, cached.__wrapped__)
    spec = catalog.resolve("anthropic/claude-sonnet-4-5", Config())
    assert (spec.window, spec.input_price) == (0, None)
    assert catalog.known() == ()


def test_litellm_is_not_imported_for_it() -> None:
    program = (
        "import sys; from tui_agent.llm import catalog, credentials, local, tokens; from tui_agent.config.sections import Config\n"
        "catalog.resolve('gpt-5-mini', Config()); tokens.count_text('hi'); print([m for m in ('litellm', 'openai', 'httpx') if m in sys.modules])"
    )
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, timeout=30
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
