"""Loading: who wins, where a value came from, and every mistake on a line of its own."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tui_agent.config.load import ConfigErrors, Loaded, load
from tui_agent.config.sections import Config, Hook
from tui_agent.config.trust import Trust
from tui_agent.core.errors import ConfigError

EXAMPLE = """\
model: anthropic/claude-sonnet-4-5      # litellm name or alias
models:
  fast:    {name: openai/gpt-5-mini}
  local:   {name: openai/qwen, api_base: "http://127.0.0.1:8080/v1", api_key_env: LOCAL_KEY, context_window: 32768, price: {input: 0, output: 0}}
fallbacks: [fast, local]
routing: {enabled: false, fast: fast, smart: null}
moa: []
limits:  {max_steps: 50, hard_max_steps: 100, budget_usd: null, timeout: null, step_timeout: 300, stall_timeout: 60}
context: {max_context_tokens: null, max_tool_result_tokens: 2000, summarize_after_steps: 8, keep_recent: 4, compact_at: 0.75, critical_at: 0.95, parallel_tools: true}
permissions: {mode: confirm-sensitive, allow: ["run_command(pytest *)"], deny: ["run_command(rm -rf *)"], ask: []}
hooks:
  post_edit:
    - {name: python-lint, command: "ruff check {file} --no-fix", file_patterns: ["*.py"], timeout: 10}
    - {name: python-typecheck, command: "mypy {file}", file_patterns: ["*.py"], timeout: 15, enabled: false}
sessions: {auto_save: true, keep_days: 0}
self_eval: off
ui: {theme: auto, language: en, mouse: true, reduced_motion: false, show_reasoning: folded, notify: unfocused}
mcp: {servers: {}}
"""


class Places:
    """A user's folder and a project, both empty."""

    def __init__(self, root: Path) -> None:
        self.home = root / "tui-agent"
        self.project = root / "code"
        self.user_file = self.home / "config.yaml"
        self.project_file = self.project / ".tui-agent" / "config.yaml"
        self.project.mkdir()

    def user(self, text: str) -> None:
        self.home.mkdir(exist_ok=True)
        self.user_file.write_text(text)

    def theirs(self, text: str, *, trusted: bool = True) -> None:
        self.project_file.parent.mkdir(exist_ok=True)
        self.project_file.write_text(text)
        if trusted:
            self.trust.trust(self.project_file.parent)

    @property
    def trust(self) -> Trust:
        return Trust(self.home / "trust.json")

    def load(
        self,
        environ: Mapping[str, str] | None = None,
        config_file: Path | None = None,
        **overrides: object,
    ) -> Loaded:
        flags = {name.replace("__", "."): value for name, value in overrides.items()}
        everything = {"TUI_AGENT_HOME": str(self.home), **(environ or {})}
        return load(self.project, config_file=config_file, overrides=flags, environ=everything)

    def mistakes(self, environ: Mapping[str, str] | None = None, **overrides: object) -> list[str]:
        with pytest.raises(ConfigErrors) as caught:
            self.load(environ, None, **overrides)
        lines = str(caught.value).splitlines()
        assert lines == [str(error) for error in caught.value.errors]
        return [
            line.replace(f"{self.user_file}:", "F:").replace(f"{self.project_file}:", "P:") for line in lines
        ]


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


# ---- who wins


def test_without_files_everything_is_default(places: Places) -> None:
    loaded = places.load()
    assert loaded.config == Config()
    assert loaded.source("limits.max_steps") == "default"
    assert loaded.untrusted_project is False
    assert not places.home.exists()


def test_the_documented_example(places: Places) -> None:
    places.user(EXAMPLE)
    config = places.load().config
    assert config.model == "anthropic/claude-sonnet-4-5"
    assert config.self_eval == "off"
    assert config.models["local"].price is not None
    assert config.models["local"].price.input == 0
    assert config.hooks.post_edit[1] == Hook(
        name="python-typecheck", command="mypy {file}", file_patterns=("*.py",), timeout=15, enabled=False
    )


def test_flags_over_environment_over_project_over_user_over_defaults(places: Places) -> None:
    places.user("limits: {max_steps: 10, timeout: 10, step_timeout: 10, extend_by: 3}")
    places.theirs("limits: {max_steps: 20, timeout: 20, step_timeout: 20}")
    environ = {"TUI_AGENT_LIMITS__MAX_STEPS": "30", "TUI_AGENT_LIMITS__TIMEOUT": "30"}
    loaded = places.load(environ, limits__max_steps=40)
    limits = loaded.config.limits
    assert (limits.max_steps, limits.timeout, limits.step_timeout, limits.extend_by) == (40, 30, 20, 3)
    assert limits.stall_timeout == 60
    assert loaded.source("limits.max_steps") == "flag"
    assert loaded.source("limits.timeout") == "TUI_AGENT_LIMITS__TIMEOUT"
    assert loaded.source("limits.step_timeout") == f"{places.project_file}:1"
    assert loaded.source("limits.extend_by") == f"{places.user_file}:1"
    assert loaded.source("limits.stall_timeout") == "default"


def test_a_source_is_the_line_of_the_key(places: Places) -> None:
    places.user(
        "# mine\nmodel: a/b\n\nlimits:\n  # steps\n  max_steps: 5\nhooks:\n  post_edit:\n  - name: x\n    command: y\n"
    )
    loaded = places.load()
    assert loaded.source("model").endswith("config.yaml:2")
    assert loaded.source("limits.max_steps").endswith("config.yaml:6")
    assert loaded.source("hooks.post_edit[0].command").endswith("config.yaml:10")


def test_tables_join_and_lists_are_replaced(places: Places) -> None:
    places.user(
        "models: {fast: {name: a/b, temperature: 1}, slow: {name: c/d}}\nfallbacks: [fast]\n"
        "hooks: {post_edit: [{name: x, command: x}, {name: y, command: y}]}"
    )
    places.theirs(
        "models: {fast: {name: e/f}}\nfallbacks: [slow]\nhooks: {post_edit: [{name: z, command: z}]}"
    )
    loaded = places.load()
    config = loaded.config
    assert (config.models["fast"].name, config.models["fast"].temperature) == ("e/f", 1)
    assert config.models["slow"].name == "c/d"
    assert config.fallbacks == ("slow",)
    assert [hook.name for hook in config.hooks.post_edit] == ["z"]
    assert "hooks.post_edit[1].name" not in loaded.sources
    assert loaded.source("models.fast.temperature").startswith(str(places.user_file))


def test_an_alias_may_be_written_in_two_places(places: Places) -> None:
    places.user("models: {local: {name: openai/qwen}}")
    places.theirs("models: {local: {context_window: 1000}}")
    assert places.load().config.models["local"].context_window == 1000


def test_permission_rules_add_up_so_that_a_project_can_not_drop_one(places: Places) -> None:
    places.user("permissions: {deny: [a, b], allow: [c]}")
    places.theirs("permissions:\n  deny: [b, d]\n  allow: []\n")
    loaded = places.load({"TUI_AGENT_PERMISSIONS__DENY": "e"})
    assert loaded.config.permissions.deny == ("a", "b", "d", "e")
    assert loaded.config.permissions.allow == ("c",)
    assert loaded.source("permissions.deny[0]") == f"{places.user_file}:1"
    assert loaded.source("permissions.deny[2]") == f"{places.project_file}:2"
    assert loaded.source("permissions.deny[3]") == "TUI_AGENT_PERMISSIONS__DENY"


def test_null_takes_back_what_may_be_unset(places: Places) -> None:
    places.user("limits: {budget_usd: 5}\nmodels: {a: {name: x/y, price: {input: 1, output: 2}}}")
    places.theirs("limits: {budget_usd: null}\nmodels: {a: {price: null}}")
    config = places.load().config
    assert config.limits.budget_usd is None
    assert config.models["a"].price is None


@pytest.mark.parametrize("text", ["", "# nothing\n", "limits:\nhooks:\n  post_edit:\nmodels:\nfallbacks:\n"])
def test_sections_without_content_are_as_if_not_there(places: Places, text: str) -> None:
    places.user(text)
    assert places.load().config == Config()


def test_config_file_stands_in_for_the_users_and_wins_over_the_projects(
    places: Places, tmp_path: Path
) -> None:
    places.user("model: user/x\nmode: plan")
    places.theirs("model: project/x\nself_eval: full")
    named = tmp_path / "named.yaml"
    named.write_text("model: named/x")
    loaded = places.load(config_file=named)
    assert (loaded.config.model, loaded.config.mode, loaded.config.self_eval) == ("named/x", "build", "full")
    assert named in loaded.files
    assert places.load({"TUI_AGENT_CONFIG": str(named)}).config.model == "named/x"


def test_a_config_file_that_is_not_there_is_a_mistake(places: Places, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        places.load(config_file=tmp_path / "none.yaml")


def test_asking_for_more_steps_raises_the_default_ceiling(places: Places) -> None:
    assert places.load(limits__max_steps=300).config.limits.hard_max_steps == 300
    places.user("limits: {hard_max_steps: 80}")
    assert places.mistakes(limits__max_steps=300) == [
        "--max-steps: limits.max_steps: is 300, above limits.hard_max_steps (80)"
    ]


# ---- trust


def test_an_untrusted_project_is_left_out_and_said_so(places: Places) -> None:
    places.theirs("model: evil/x\nhooks: {post_edit: [{name: x, command: curl}]}", trusted=False)
    loaded = places.load()
    assert loaded.config == Config()
    assert loaded.untrusted_project
    assert loaded.trust == "unknown"
    assert loaded.project == places.project_file.parent
    assert loaded.warnings == (f"{places.project_file}: left out, because the folder is not trusted",)


def test_mistakes_of_an_untrusted_project_stop_nothing(places: Places) -> None:
    places.theirs("{{{", trusted=False)
    assert places.load().config == Config()


def test_a_changed_hook_is_left_out_again(places: Places) -> None:
    places.theirs("hooks: {post_edit: [{name: x, command: ruff}]}")
    assert places.load().config.hooks.post_edit[0].command == "ruff"
    places.theirs("hooks: {post_edit: [{name: x, command: curl}]}", trusted=False)
    loaded = places.load()
    assert loaded.config.hooks.post_edit == ()
    assert (loaded.untrusted_project, loaded.trust) == (True, "changed")


def test_what_was_shown_is_what_is_trusted(places: Places) -> None:
    places.theirs("hooks: {post_edit: [{name: x, command: ruff}]}", trusted=False)
    shown = places.load()
    places.theirs("hooks: {post_edit: [{name: x, command: curl}]}", trusted=False)
    assert shown.project is not None
    places.trust.trust(shown.project, shown.project_settings)
    assert places.load().trust == "changed"


def test_the_project_is_found_from_below(places: Places) -> None:
    places.theirs("model: a/b")
    (places.project / ".git").mkdir()
    below = places.project / "src" / "deep"
    below.mkdir(parents=True)
    assert load(below, environ={"TUI_AGENT_HOME": str(places.home)}).config.model == "a/b"


# ---- the environment and the flags


@pytest.mark.parametrize(
    ("name", "value", "key", "expected"),
    [
        ("TUI_AGENT_MODEL", "a/b", "model", "a/b"),
        ("TUI_AGENT_MODEL", "7", "model", "7"),
        ("TUI_AGENT_MAX_STEPS", "7", "limits.max_steps", 7),
        ("TUI_AGENT_BUDGET", "2.5", "limits.budget_usd", 2.5),
        ("TUI_AGENT_BUDGET", "none", "limits.budget_usd", None),
        ("TUI_AGENT_SELF_EVAL", "full", "self_eval", "full"),
        ("TUI_AGENT_SELF_EVAL", "off", "self_eval", "off"),
        ("TUI_AGENT_UI__MOUSE", "no", "ui.mouse", False),
        ("TUI_AGENT_UI__MOUSE", "TRUE", "ui.mouse", True),
        ("TUI_AGENT_CONFIRM", "yolo", "permissions.mode", "yolo"),
        ("TUI_AGENT_FALLBACKS", "a/b, c/d", "fallbacks", ("a/b", "c/d")),
        ("TUI_AGENT_PERMISSIONS__ASK", '["t(a, b)"]', "permissions.ask", ("t(a, b)",)),
        ("TUI_AGENT_MODELS__FAST__NAME", "a/b", "models.fast.name", "a/b"),
        ("TUI_AGENT_MODELS", "{fast: {name: a/b}}", "models.fast.name", "a/b"),
        ("TUI_AGENT_LIMITS", "{max_steps: 3}", "limits.max_steps", 3),
    ],
)
def test_settings_from_the_environment(
    places: Places, name: str, value: str, key: str, expected: object
) -> None:
    loaded = places.load({name: value})
    found: object = loaded.config
    for part in key.split("."):
        found = found[part] if isinstance(found, dict) else getattr(found, part)
    assert found == expected
    assert loaded.source(key) == name
    assert loaded.warnings == ()


def test_an_empty_variable_is_not_set(places: Places) -> None:
    places.user("model: a/b")
    assert places.load({"TUI_AGENT_MODEL": ""}).config.model == "a/b"


def test_the_long_name_of_a_variable_wins(places: Places) -> None:
    assert (
        places.load({"TUI_AGENT_LIMITS__MAX_STEPS": "9", "TUI_AGENT_MAX_STEPS": "8"}).config.limits.max_steps
        == 9
    )


def test_a_variable_for_one_key_wins_over_one_for_its_section(places: Places) -> None:
    environ = {"TUI_AGENT_LIMITS": "{max_steps: 3, timeout: 4}", "TUI_AGENT_LIMITS__MAX_STEPS": "9"}
    limits = places.load(environ).config.limits
    assert (limits.max_steps, limits.timeout) == (9, 4)


def test_a_variable_that_is_no_setting_is_a_warning(places: Places) -> None:
    loaded = places.load({"TUI_AGENT_MODLE": "x", "TUI_AGENT_SESSION_ID": "7", "TUI_AGENT_EDITED_FILE": "f"})
    assert loaded.warnings == ("TUI_AGENT_MODLE: is no setting; did you mean TUI_AGENT_MODE?",)


def test_flags_that_were_not_given_change_nothing(places: Places) -> None:
    places.user("limits: {budget_usd: 5}")
    assert places.load(limits__budget_usd=None).config.limits.budget_usd == 5
    assert places.load(limits__budget_usd="none").config.limits.budget_usd is None


def test_values_from_outside_are_checked_alike(places: Places) -> None:
    environ = {"TUI_AGENT_TIMEOUT": "soon", "TUI_AGENT_MODE": "pln", "TUI_AGENT_MODELS": "{a: "}
    lines = places.mistakes(environ, limits__budget_usd=-3, ui__language="fr", limits__max_steps="7.5")
    assert lines[0].startswith("TUI_AGENT_MODELS: is not valid YAML")
    assert sorted(lines[1:]) == [
        "--budget: expected an amount in USD above 0, got -3",
        '--language: expected en or es, got "fr"',
        "--max-steps: expected a whole number of steps, got 7.5",
        'TUI_AGENT_MODE: expected plan, build or mixed, got "pln"; did you mean "plan"?',
        'TUI_AGENT_TIMEOUT: expected a number of seconds, got "soon"',
    ]


# ---- mistakes


def test_every_mistake_is_named_with_file_line_and_key(places: Places) -> None:
    places.user(
        "modle: x\n"
        "limits:\n"
        "  max_steps: 0\n"
        "  timeout: ten\n"
        "max_steps: 5\n"
        "hooks:\n"
        "  post_edit:\n"
        '    - {name: a, command: x, timeout: "ten"}\n'
        "    - command: x\n"
        "permissions: {mode: yollo}\n"
    )
    places.theirs("ui:\n  mouse: maybe\n")
    assert places.mistakes() == [
        'F:1: modle: unknown key; did you mean "model"?',
        "F:3: limits.max_steps: expected a whole number of steps from 1, got 0",
        'F:4: limits.timeout: expected a number of seconds, got "ten"',
        'F:5: max_steps: unknown key; did you mean "limits.max_steps"?',
        'F:8: hooks.post_edit[0].timeout: expected a number of seconds, got "ten"',
        "F:9: hooks.post_edit[1].name: is missing: a name",
        'F:10: permissions.mode: expected yolo, confirm-sensitive or confirm-all, got "yollo"; did you mean "yolo"?',
        'P:2: ui.mouse: expected true or false, got "maybe"',
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("model: 5", "F:1: model: expected a model name or an alias, got 5 (put it in quotes)"),
        ('model: " "', 'F:1: model: expected a model name or an alias, got " "'),
        ("- a", "F:1: expected settings such as `model: …`, got a list"),
        ("fallbacks: fast", 'F:1: fallbacks: expected a list of model names or aliases, got "fast"'),
        ("limits: 5", "F:1: limits: expected limits, got 5"),
        ("limits: {max_steps: true}", "F:1: limits.max_steps: expected a whole number of steps, got true"),
        ("limits: {max_steps: null}", "F:1: limits.max_steps: expected a whole number of steps, got nothing"),
        ("limits: {budget_usd: 0}", "F:1: limits.budget_usd: expected an amount in USD above 0, got 0"),
        ("context: {keep_recent: 0}", "F:1: context.keep_recent: expected a whole number of exchanges from 1, got 0"),
        ("limits: {timeout: .inf}", "F:1: limits.timeout: expected a number of seconds, got .inf"),
        ("limits: {timeout: 1e99}", "F:1: limits.timeout: expected a number of seconds above 0, got 1e99"),
        ("sessions: {keep_days: 1.5}", "F:1: sessions.keep_days: expected a whole number of days, got 1.5"),
        ("context: {compact_at: 1.5}", "F:1: context.compact_at: expected a share of the window above 0 up to 1, got 1.5"),
        ("models: {a: null}", "F:1: models.a: expected the settings of a model, got nothing"),
        ("models:\n  a:\n    price: {input: 1}\n    name: x/y", "F:3: models.a.price.output: is missing: a price in USD per million tokens"),
        ("models:\n  a: {api_base: 'http://x'}", "F:2: models.a.name: is missing: a litellm name such as openai/gpt-5-mini"),
        ("models: {a: {name: x/y, api_base: 'ftp://x'}}", 'F:1: models.a.api_base: expected an address that begins with http:// or https://, got "ftp://x"'),
        ("models: {'a b': 5}", 'F:1: models."a b": expected the settings of a model, got 5'),
        ("hooks: {post_edit: [5]}", "F:1: hooks.post_edit[0]: expected a hook: {name: …, command: …}, got 5"),
        ("self_eval: false", "F:1: self_eval: expected off, basic or full, got false"),
        ('ui: {theme: "a\\x1b[2J"}', "F:1: ui.theme: holds the control character U+001B"),
        ("? \"\\x1b[2J\"\n: 1", 'F:1: "\\x1b[2J": unknown key; at the top there are model, mode, models'),
        ("models: {a: {name: x/y, api_key: hidden}}", 'F:1: models.a.api_key: unknown key; did you mean "api_key_env"?'),
        ("hooks: {post_edit: [{name: a, command: x, pattern: y}]}", "F:1: hooks.post_edit[0].pattern: unknown key;"),
    ],
)  # fmt: skip
def test_one_mistake(places: Places, text: str, line: str) -> None:
    places.user(text)
    (found,) = places.mistakes()
    assert found.startswith(line)
    assert found == line or line.endswith((";", "models"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("context:\n  compact_at: 0.95", "F:2: context.compact_at: is 0.95, not below context.critical_at (0.95): a run would end before older exchanges are summarised"),
        ("context: {critical_at: 0.5}", "F:1: context.compact_at: is 0.75, not below context.critical_at (0.5): a run would end before older exchanges are summarised"),
        ("models: {fast: {name: a/b}}\nfallbacks:\n  - a/b\n  - fsat", 'F:4: fallbacks[1]: "fsat" is no alias from models, and no litellm name (provider/model); did you mean "fast"?'),
        ("routing: {fast: quick}", 'F:1: routing.fast: "quick" is no alias from models, and no litellm name (provider/model)'),
        ("moa: [a/1, a/2, a/3, a/4, a/5, a/6, a/7, a/8, a/9]", "F:1: moa: names 9 models; 8 is the most"),
        ("permissions:\n  deny:\n    - run_command(ok)\n    - run_command(rm", 'F:4: permissions.deny[1]: expected tool or tool(pattern), got "run_command(rm"'),
        ("hooks:\n  post_edit:\n    - {name: a, command: x}\n    - {name: a, command: y}", 'F:4: hooks.post_edit[1].name: "a" is already the name of hooks.post_edit[0]'),
        ("hooks: {post_edit: [{name: a, command: x, file_patterns: []}]}", 'F:1: hooks.post_edit[0].file_patterns: is empty, so the hook never runs; write ["*"] or enabled: false'),
        ("mcp:\n  servers:\n    x: {}", "F:3: mcp.servers.x: needs a command or a url"),
        ("mcp: {servers: {x: {command: a, url: 'http://x'}}}", "F:1: mcp.servers.x: has a command and a url; only one can be used"),
        ("mcp: {servers: {x: {args: [a], url: 'http://x'}}}", "F:1: mcp.servers.x: has a url, so args and env are of no use"),
    ],
)  # fmt: skip
def test_contradictions(places: Places, text: str, line: str) -> None:
    places.user(text)
    assert places.mistakes() == [line]


def test_what_a_file_says_is_repeated_harmlessly(places: Places) -> None:
    places.user(
        'models: {"fast\u202e": {name: a/b}}\nfallbacks: ["fast\u202d"]\npermissions: {deny: ["(\u202e"]}'
    )
    assert places.mistakes() == [
        'F:2: fallbacks[0]: "fast\\u202d" is no alias from models, and no litellm name (provider/model); did you mean "fast\\u202e"?',
        'F:3: permissions.deny[0]: expected tool or tool(pattern), got "(\\u202e"',
    ]


@pytest.mark.parametrize("name", ["openai/anything", "gpt-4o", "o3", "command-r"])
def test_names_that_may_be_models_are_left_to_the_catalog(places: Places, name: str) -> None:
    places.user(f"fallbacks: [{name}]")
    assert places.load().config.fallbacks == (name,)


def test_a_key_written_by_mistake_is_not_repeated(places: Places) -> None:
    places.user(
        "models: {a: {name: x/y, api_key_env: sk-123-456}}\nmcp: {servers: {s: {command: c, env: {T: 4711}}}}"
    )
    lines = places.mistakes()
    assert lines == [
        "F:1: models.a.api_key_env: expected the name of an environment variable (not a key)",
        "F:2: mcp.servers.s.env.T: expected text (put it in quotes)",
    ]


def test_a_flood_of_mistakes_is_cut(places: Places) -> None:
    places.user("\n".join(f"x{n}: 1" for n in range(200)))
    with pytest.raises(ConfigErrors) as caught:
        places.load()
    lines = str(caught.value).splitlines()
    assert len(caught.value.errors) == 200
    assert len(lines) == 51
    assert lines[-1] == "… and 150 more errors"
    assert caught.value.line == 1


def test_numbers_and_booleans_as_people_write_them(places: Places) -> None:
    places.user(
        "limits: {max_steps: 50.0, timeout: 1_000}\nui: {mouse: off, reduced_motion: Yes}\nsessions: {auto_save: no}"
    )
    config = places.load().config
    assert (config.limits.max_steps, config.limits.timeout) == (50, 1000)
    assert (config.ui.mouse, config.ui.reduced_motion, config.sessions.auto_save) == (False, True, False)
    assert isinstance(config.limits.max_steps, int)
