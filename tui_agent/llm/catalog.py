"""Prices, windows and abilities of models, from the JSON file that litellm ships, read without importing litellm.

The file (4,878 rows) is read on first use (20 ms) and kept for the life of the process. Rules for it, all measured with
litellm 1.110.2: rows may be ``alias_of`` another; a price of 0 or none means *unknown* unless the server is local; an
ability that is absent is unknown; ``mode: responses`` says that litellm calls ``/v1/responses`` instead.
"""

from __future__ import annotations

import importlib.util
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from rapidfuzz import fuzz, process

from tui_agent.config.sections import Config, ModelEntry
from tui_agent.core.errors import ConfigError
from tui_agent.llm.api import ModelSpec, ReportedUsage
from tui_agent.llm.providers import PROVIDERS, base_of, is_loopback

Row = dict[str, Any]

PRICES = "model_prices_and_context_window_backup.json"
CHAT_MODES = frozenset({"chat", "responses", "completion"})
NO_MODELS = frozenset({"sample_spec", "fallback_generalizations"})

FAMILIES = (
    (re.compile(r"claude-"), "anthropic"),
    (re.compile(r"gpt-|chatgpt-|o\d"), "openai"),
    (re.compile(r"gemini-"), "gemini"),
)
"""Makers by a bare name's beginning, for models newer than the file."""

MILLION = 1_000_000.0


class KnownModel(msgspec.Struct, frozen=True):
    """What the file says of one model; None = it says nothing. Prices in USD per token, sizes in tokens (0 = unknown)."""

    name: str
    provider: str
    mode: str = "chat"
    window: int = 0
    max_output: int = 0
    input_price: float | None = None
    output_price: float | None = None
    cached_price: float | None = None
    cache_write_price: float | None = None
    tools: bool | None = None
    parallel_tools: bool | None = None
    vision: bool | None = None
    reasoning: bool | None = None
    cache: bool | None = None
    json_schema: bool | None = None
    streams: bool | None = None
    deprecated: str = ""
    """Day the provider takes it away, ``YYYY-MM-DD``."""

    @property
    def responses(self) -> bool:
        """True if litellm sends calls to ``/v1/responses``, also with an address of your own."""
        return self.mode == "responses"


# ---- resolving a name


def resolve(name: str, config: Config) -> ModelSpec:
    """The model behind an alias of the configuration or a litellm name.

    Raises ``ConfigError`` with the nearest names if it can't be a model at all; a name that is merely newer than the
    price file passes, with unknown window and prices.
    """
    entry = config.models.get(name)
    wanted = (entry.name if entry else name).strip()
    api_base = ((entry and entry.api_base) or "").strip()
    full = _canonical(wanted, api_base, config)
    provider = full.partition("/")[0]
    local = is_loopback(base_of(provider, api_base, os.environ))
    known = find(full)
    if known and known.mode not in CHAT_MODES:
        raise ConfigError(
            f"{full} is not a chat model (it is for {known.mode.replace('_', ' ')})", where="model"
        )
    priced = _prices(known, entry, local)
    proxied = priced[0] is not None and priced[0] > 0
    usable = known if known and (proxied or not local) else None  # a local server's window is its own
    entry = entry or ModelEntry(name=full)
    return ModelSpec(
        name=full,
        alias=name if name in config.models else "",
        api_base=api_base.rstrip("/"),
        api_key_env=entry.api_key_env or "",
        key_command=entry.key_command or "",
        window=entry.context_window or (usable.window if usable else 0),
        max_output=entry.max_output or (usable.max_output if usable else 0),
        input_price=priced[0],
        output_price=priced[1],
        cached_price=priced[2],
        cache_write_price=priced[3],
        reasoning_effort=entry.reasoning_effort or "",
        temperature=entry.temperature,
        local=local,
    )


def _canonical(name: str, api_base: str, config: Config) -> str:
    """``provider/model``; a bare name gets the provider that the file or the maker's naming says."""
    head, slash, tail = name.partition("/")
    if slash and tail and head in providers():
        return name
    if not slash and name:
        if f"gemini/{name}" in _rows():
            return f"gemini/{name}"  # litellm itself would take the bare name for Vertex AI
        if row := _rows().get(name):
            return f"{_provider(row)}/{name}"
    if name and api_base:
        return f"openai/{name}"
    for pattern, provider in FAMILIES:
        if not slash and pattern.match(name):
            return f"{provider}/{name}"
    close = nearest(name, config)
    hint = f"; nearest: {', '.join(close)}" if close else "; write it as provider/model"
    raise ConfigError(f'unknown model "{name}"{hint}', where="model")


def nearest(name: str, config: Config | None = None, limit: int = 3) -> list[str]:
    """Names that look like ``name``, best first: aliases, then models of the file."""
    names = [*(config.models if config else ()), *(model.name for model in known())]
    tails = {full: full.rpartition("/")[2].lower() for full in names}
    wanted = name.rpartition("/")[2].lower()
    found = process.extract(wanted, tails, scorer=fuzz.ratio, limit=limit * 8, score_cutoff=60)
    makers = list(PROVIDERS)
    head = name.partition("/")[0] if "/" in name else ""

    def rank(hit: tuple[str, float, str]) -> tuple[float, bool, int, str]:
        provider = hit[2].partition("/")[0]
        return (
            -hit[1],
            provider != head,
            makers.index(provider) if provider in makers else len(makers),
            hit[2],
        )

    return [full for _, _, full in sorted(found, key=rank)[:limit]]


def _prices(
    known: KnownModel | None, entry: ModelEntry | None, local: bool
) -> tuple[float | None, float | None, float | None, float | None]:
    if entry and entry.price:
        price = entry.price
        cached = None if price.cached is None else price.cached / MILLION
        written = None if price.cache_write is None else price.cache_write / MILLION
        return price.input / MILLION, price.output / MILLION, cached, written
    if known and known.input_price is not None:
        return known.input_price, known.output_price, known.cached_price, known.cache_write_price
    return (0.0, 0.0, 0.0, 0.0) if local else (None, None, None, None)


# ---- looking up


def find(name: str) -> KnownModel | None:
    """The file's row for ``provider/model`` or a bare name; a row without a provider counts only if it is the same one."""
    row = _rows().get(name)
    if row is None:
        head, slash, tail = name.partition("/")
        bare = _rows().get(tail) if slash else None
        row = bare if bare and _provider(bare) == head else None
    return _known(name, row) if row is not None else None


def supports(spec: ModelSpec) -> KnownModel:
    """What is known of a model's abilities; all unknown (None) for a model that the file does not have."""
    return find(spec.name) or KnownModel(spec.name, spec.provider)


@cache
def known() -> tuple[KnownModel, ...]:
    """Every chat model of the file as ``provider/model``, sorted by name."""
    found: dict[str, KnownModel] = {}
    for key, row in _rows().items():
        if row.get("mode") in CHAT_MODES:
            name = key if key.partition("/")[0] in providers() and "/" in key else f"{_provider(row)}/{key}"
            found.setdefault(name, _known(name, row))
    return tuple(found[name] for name in sorted(found))


@cache
def providers() -> frozenset[str]:
    """Every provider that litellm can call."""
    names = {_provider(row) for row in _rows().values()} | set(PROVIDERS)
    names |= set(_read("provider_endpoints_support_backup.json").get("providers", {}))
    names |= set(_read("llms/openai_like/providers.json"))
    return frozenset(name for name in names if name)


def _known(name: str, row: Row) -> KnownModel:
    input_price, output_price = _number(row, "input_cost_per_token"), _number(row, "output_cost_per_token")
    if not input_price and not output_price:
        tiers: list[Row] = row.get("tiered_pricing") or [{}]
        input_price = _number(tiers[0], "input_cost_per_token")
        output_price = _number(tiers[0], "output_cost_per_token")
    silent = not input_price and not output_price  # "free" in the file mostly means that nobody wrote a price
    return KnownModel(
        name=name,
        provider=_provider(row),
        mode=str(row.get("mode") or "chat"),
        window=int(_number(row, "max_input_tokens") or _number(row, "max_tokens") or 0),
        max_output=int(_number(row, "max_output_tokens") or 0),
        input_price=None if silent else input_price or 0.0,
        output_price=None if silent else output_price,
        cached_price=None if silent else _number(row, "cache_read_input_token_cost"),
        cache_write_price=None if silent else _number(row, "cache_creation_input_token_cost"),
        tools=_flag(row, "supports_function_calling"),
        parallel_tools=_flag(row, "supports_parallel_function_calling"),
        vision=_flag(row, "supports_vision"),
        reasoning=_flag(row, "supports_reasoning"),
        cache=_flag(row, "supports_prompt_caching"),
        json_schema=_flag(row, "supports_response_schema"),
        streams=_flag(row, "supports_native_streaming"),
        deprecated=str(row.get("deprecation_date") or ""),
    )


def _provider(row: Row) -> str:
    """The provider's name as litellm takes it in front of a model (``vertex_ai-language-models`` is ``vertex_ai``)."""
    name = str(row.get("litellm_provider") or "")
    if name.startswith("vertex_ai"):
        return "vertex_ai"
    return {"bedrock_converse": "bedrock", "text-completion-openai": "openai"}.get(name, name)


def _number(row: Row, key: str) -> float | None:
    value = row.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _flag(row: Row, key: str) -> bool | None:
    value = row.get(key)
    return value if isinstance(value, bool) else None


@cache
def _rows() -> dict[str, Row]:
    rows: dict[str, Row] = {name: row for name, row in _read(PRICES).items() if name not in NO_MODELS}
    for name, row in list(rows.items()):
        target = rows.get(str(row.get("alias_of", "")))
        if target:
            rows[name] = {**target, **row}
    return rows


def _read(name: str) -> dict[str, Any]:
    folder = _folder()
    if folder is None:
        return {}
    try:
        content = msgspec.json.decode((folder / name).read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError):
        return {}
    return content


def _folder() -> Path | None:
    """litellm's folder, found without importing it."""
    spec = importlib.util.find_spec("litellm")
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) if places else None


# ---- cost


class Rates(msgspec.Struct, frozen=True):
    """USD per token for one request's size."""

    input: float
    output: float | None
    cached: float
    cache_write: float
    reasoning: float | None


def cost(spec: ModelSpec, usage: ReportedUsage) -> float | None:
    """USD of one call; None if the price is unknown. The provider's own figure wins.

    ``usage.input`` holds cached and cache-written tokens, ``usage.output`` the reasoning. A request above a tier's
    threshold is billed at that tier's rates as a whole. Night discounts of a few providers are left out.
    """
    if usage.cost_usd is not None:
        return usage.cost_usd
    rates = _rates(spec, usage.input)
    if rates is None or (rates.output is None and usage.output):
        return None
    output = rates.output or 0.0
    plain = max(0, usage.input - usage.cached - usage.cache_write)
    thought = min(usage.reasoning, usage.output)
    return (
        plain * rates.input
        + usage.cached * rates.cached
        + usage.cache_write * rates.cache_write
        + (usage.output - thought) * output
        + thought * (output if rates.reasoning is None else rates.reasoning)
    )


def _rates(spec: ModelSpec, prompt: int) -> Rates | None:
    if spec.input_price is None:
        return None
    found = find(spec.name)
    row = (
        _row(spec.name) if found and found.input_price == spec.input_price else {}
    )  # the person's own price has no tiers
    for tier in row.get("tiered_pricing") or ():
        low, high = (tier.get("range") or (0, float("inf")))[:2]
        if low < prompt <= high or (low == 0 and prompt == 0):
            row = {**tier, "output_cost_per_token": tier.get("output_cost_per_token", spec.output_price)}
            return _at(row, None)
    if not row:
        cached = spec.input_price if spec.cached_price is None else spec.cached_price
        written = spec.input_price if spec.cache_write_price is None else spec.cache_write_price
        return Rates(spec.input_price, spec.output_price, cached, written, None)
    return _at(row, _crossed(row, prompt, inclusive=spec.provider == "xai"))


_TIER = re.compile(
    r"(?:input_cost_per_token|output_cost_per_token|cache_\w+_input_token_cost)_above_(\d+)(k?)_tokens$"
)


def _crossed(row: Row, prompt: int, *, inclusive: bool) -> str | None:
    """The suffix of the highest threshold that a prompt of that size is beyond, e.g. ``_above_200k_tokens``."""
    best: tuple[int, str] | None = None
    for key in row:
        if match := _TIER.fullmatch(key):
            threshold = int(match[1]) * (1000 if match[2] else 1)
            beyond = prompt >= threshold if inclusive else prompt > threshold
            if beyond and (best is None or threshold > best[0]):
                best = (threshold, f"_above_{match[1]}{match[2]}_tokens")
    return best[1] if best else None


def _at(row: Row, suffix: str | None) -> Rates:
    def rate(key: str) -> float | None:
        tiered = _number(row, key + suffix) if suffix else None
        return _number(row, key) if tiered is None else tiered

    price = rate("input_cost_per_token") or 0.0
    cached, written = rate("cache_read_input_token_cost"), rate("cache_creation_input_token_cost")
    return Rates(
        input=price,
        output=rate("output_cost_per_token"),
        cached=price if cached is None else cached,
        cache_write=price if written is None else written,
        reasoning=_number(row, "output_cost_per_reasoning_token"),
    )


def _row(name: str) -> Row:
    rows = _rows()
    return rows.get(name) or rows.get(name.partition("/")[2]) or {}
