"""Where each provider's key and address come from: litellm's own variable names, as a table.

Source: litellm 1.110.2, ``utils.validate_environment``, ``litellm_core_utils/get_llm_provider_logic.py`` and ``llms/*``.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from tui_agent.llm.api import ModelSpec

SignIn = Literal["key", "optional", "cloud", "browser"]
"""``key``: needs one; ``optional``: works without; ``cloud``: the cloud's own credential chain; ``browser``: a device
sign-in that litellm runs on its own terminal, which a screen can't host."""


class Provider(msgspec.Struct, frozen=True):
    """Variables that hold the key and the address, first one set wins; ``base`` is the address without any."""

    keys: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    base: str = ""
    sign_in: SignIn = "key"


PROVIDERS: dict[str, Provider] = {
    "anthropic": Provider(
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL")
    ),
    "openai": Provider(("OPENAI_API_KEY",), ("OPENAI_BASE_URL", "OPENAI_API_BASE")),
    "gemini": Provider(("GEMINI_API_KEY", "GOOGLE_API_KEY"), ("GEMINI_API_BASE",)),
    "openrouter": Provider(("OPENROUTER_API_KEY", "OR_API_KEY"), ("OPENROUTER_API_BASE",)),
    "deepseek": Provider(("DEEPSEEK_API_KEY",), ("DEEPSEEK_API_BASE",)),
    "mistral": Provider(("MISTRAL_API_KEY",), ("MISTRAL_API_BASE",)),
    "codestral": Provider(("CODESTRAL_API_KEY",), ("CODESTRAL_API_BASE",)),
    "xai": Provider(("XAI_API_KEY",), ("XAI_API_BASE",)),
    "groq": Provider(("GROQ_API_KEY",), ("GROQ_API_BASE",)),
    "cerebras": Provider(("CEREBRAS_API_KEY",), ("CEREBRAS_API_BASE",)),
    "together_ai": Provider(
        ("TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHERAI_API_KEY", "TOGETHER_AI_TOKEN"),
        ("TOGETHER_AI_API_BASE",),
    ),
    "fireworks_ai": Provider(
        ("FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY", "FIREWORKSAI_API_KEY", "FIREWORKS_AI_TOKEN"),
        ("FIREWORKS_API_BASE",),
    ),
    "deepinfra": Provider(("DEEPINFRA_API_KEY",), ("DEEPINFRA_API_BASE",)),
    "perplexity": Provider(("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY")),
    "cohere": Provider(("COHERE_API_KEY", "CO_API_KEY"), ("COHERE_API_BASE",)),
    "cohere_chat": Provider(("COHERE_API_KEY", "CO_API_KEY"), ("COHERE_API_BASE",)),
    "moonshot": Provider(("MOONSHOT_API_KEY",), ("MOONSHOT_API_BASE",)),
    "zai": Provider(("ZAI_API_KEY",), ("ZAI_API_BASE",)),
    "minimax": Provider(("MINIMAX_API_KEY",), ("MINIMAX_API_BASE",)),
    "dashscope": Provider(("DASHSCOPE_API_KEY",), ("DASHSCOPE_API_BASE",)),
    "nvidia_nim": Provider(("NVIDIA_NIM_API_KEY",), ("NVIDIA_NIM_API_BASE",)),
    "sambanova": Provider(("SAMBANOVA_API_KEY",), ("SAMBANOVA_API_BASE",)),
    "nebius": Provider(("NEBIUS_API_KEY",), ("NEBIUS_API_BASE",)),
    "novita": Provider(("NOVITA_API_KEY",), ("NOVITA_API_BASE",)),
    "huggingface": Provider(("HUGGINGFACE_API_KEY", "HF_TOKEN"), ("HF_API_BASE", "HUGGINGFACE_API_BASE")),
    "replicate": Provider(("REPLICATE_API_KEY", "REPLICATE_API_TOKEN"), ("REPLICATE_API_BASE",)),
    "vercel_ai_gateway": Provider(
        ("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"), ("VERCEL_AI_GATEWAY_API_BASE",)
    ),
    "github": Provider(("GITHUB_API_KEY",), ("GITHUB_API_BASE",)),
    "azure": Provider(("AZURE_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_AD_TOKEN"), ("AZURE_API_BASE",)),
    "azure_ai": Provider(("AZURE_AI_API_KEY",), ("AZURE_AI_API_BASE",)),
    "litellm_proxy": Provider(("LITELLM_PROXY_API_KEY",), ("LITELLM_PROXY_API_BASE",), sign_in="optional"),
    "hosted_vllm": Provider(("HOSTED_VLLM_API_KEY",), ("HOSTED_VLLM_API_BASE",), sign_in="optional"),
    "lm_studio": Provider(
        ("LM_STUDIO_API_KEY",), ("LM_STUDIO_API_BASE",), "http://127.0.0.1:1234/v1", "optional"
    ),
    "llamafile": Provider(
        ("LLAMAFILE_API_KEY",), ("LLAMAFILE_API_BASE",), "http://127.0.0.1:8080/v1", "optional"
    ),
    "ollama": Provider(("OLLAMA_API_KEY",), ("OLLAMA_API_BASE",), "http://127.0.0.1:11434", "optional"),
    "ollama_chat": Provider(("OLLAMA_API_KEY",), ("OLLAMA_API_BASE",), "http://127.0.0.1:11434", "optional"),
    "bedrock": Provider(("AWS_BEARER_TOKEN_BEDROCK",), sign_in="cloud"),
    "sagemaker": Provider(sign_in="cloud"),
    "sagemaker_chat": Provider(sign_in="cloud"),
    "vertex_ai": Provider(sign_in="cloud"),
    "watsonx": Provider(("WATSONX_API_KEY", "WX_API_KEY"), sign_in="cloud"),
    "oci": Provider(sign_in="cloud"),
    "sap": Provider(sign_in="cloud"),
    "github_copilot": Provider(sign_in="browser"),
    "chatgpt": Provider(sign_in="browser"),
}

READ_BY_LITELLM = frozenset({"ANTHROPIC_AUTH_TOKEN", "AZURE_AD_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"})
"""Variables whose value goes into another header than a key: litellm reads them itself, given as a key they fail."""


def provider(name: str) -> Provider:
    """The table's row, or the pattern that nearly all of litellm's other providers follow."""
    word = name.upper().replace("-", "_")
    return PROVIDERS.get(name) or Provider((f"{word}_API_KEY",), (f"{word}_API_BASE",))


def base_of(name: str, api_base: str, environ: Mapping[str, str]) -> str:
    """The address to call: the configured one, the environment's, the table's; empty = the provider's own."""
    row = provider(name)
    found = api_base or next((environ[key] for key in row.bases if environ.get(key)), "") or row.base
    return found.strip().rstrip("/")


def is_loopback(url: str) -> bool:
    """True if ``url`` names this machine."""
    host = _host(url)
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_private(url: str) -> bool:
    """True if ``url`` names this machine or one of the same network: such servers mostly want no key."""
    host = _host(url)
    if is_loopback(url) or host.endswith((".local", ".lan", ".internal")):
        return True
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return bool(host) and "." not in host


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


def account(spec: ModelSpec, environ: Mapping[str, str]) -> str:
    """What a rate limit belongs to: the model at its address. Other models of one provider have limits of their own."""
    return f"{spec.name} {base_of(spec.provider, spec.api_base, environ)}".rstrip()
