"""Our arithmetic on the shipped price file agrees with litellm's."""

import pytest

from tui_agent.config.sections import Config
from tui_agent.llm import catalog
from tui_agent.llm.api import ReportedUsage
from tui_agent.llm.litellm_model import LitellmModel

CASES = [
    ("openai/gpt-5-mini", ReportedUsage(input=1000, output=500)),
    ("openai/gpt-5-mini", ReportedUsage(input=1000, cached=900, output=500, reasoning=400)),
    ("openai/gpt-5.4", ReportedUsage(input=271_999, cached=1000, output=10)),
    ("openai/gpt-5.4", ReportedUsage(input=272_001, cached=1000, output=10)),
    (
        "anthropic/claude-sonnet-4-5",
        ReportedUsage(input=50_000, cached=40_000, cache_write=5_000, output=1_000),
    ),
    (
        "anthropic/claude-opus-4-7",
        ReportedUsage(input=250_000, cached=200_000, cache_write=1_000, output=1_000),
    ),
    ("gemini/gemini-2.5-pro", ReportedUsage(input=200_000, cached=100_000, output=1_000)),
    ("gemini/gemini-2.5-pro", ReportedUsage(input=200_001, cached=100_000, output=1_000)),
    ("deepseek/deepseek-chat", ReportedUsage(input=10_000, cached=9_000, output=1_000)),
    ("mistral/mistral-large-latest", ReportedUsage(input=10_000, output=1_000)),
    ("xai/grok-4.3", ReportedUsage(input=200_000, cached=50_000, output=1_000)),
    ("groq/openai/gpt-oss-120b", ReportedUsage(input=10_000, output=1_000)),
    ("dashscope/qwen-flash", ReportedUsage(input=256_000, output=1_000)),
    ("dashscope/qwen-flash", ReportedUsage(input=256_001, output=1_000)),
    ("anthropic/claude-sonnet-latest", ReportedUsage(input=10_000, output=1_000)),
]


@pytest.mark.parametrize(("name", "usage"), CASES)
async def test_costs_agree_with_litellm(model: LitellmModel, name: str, usage: ReportedUsage) -> None:
    import litellm
    from litellm.types.utils import CompletionTokensDetailsWrapper, PromptTokensDetailsWrapper

    theirs = litellm.Usage(
        prompt_tokens=usage.input,
        completion_tokens=usage.output,
        total_tokens=usage.input + usage.output,
        prompt_tokens_details=PromptTokensDetailsWrapper(
            cached_tokens=usage.cached, cache_creation_tokens=usage.cache_write
        ),
        completion_tokens_details=CompletionTokensDetailsWrapper(reasoning_tokens=usage.reasoning),
        cache_read_input_tokens=usage.cached,
        cache_creation_input_tokens=usage.cache_write,
    )
    provider, _, tail = name.partition("/")
    prompt, completion = litellm.cost_per_token(model=tail, custom_llm_provider=provider, usage_object=theirs)
    ours = catalog.cost(catalog.resolve(name, Config()), usage)
    assert ours == pytest.approx(prompt + completion, rel=1e-9)
    assert ours
