"""What holds for the repository as a whole: layers, the cost of a start, what is documented, what never gets in."""

import ast
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from types import UnionType
from typing import Any, get_args

import grimp
import msgspec
import pytest
import yaml

from tui_agent.config.sections import Config
from tui_agent.core.events import EVENT_TYPES
from tui_agent.tools.registry import default_tools

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tui_agent"

DEFERRED = {
    "config.nearest": "a start without mistakes needs no fuzzy search",
    "cli": "--help answers before Textual and litellm could be imported",
    "engine.assemble": "the demo needs no litellm",
    "engine.process": "the child process answers before litellm is there",
    "llm.litellm_model": "litellm takes seconds to import",
    "policy.shell": "the parser is made when the first command has to be judged",
    "ui.render": "the first paint needs neither markdown nor a lexer",
}
"""Where an import may stand inside a function (a module and all below it), and why."""

HEAVY = {"litellm", "markdown_it", "mcp", "openai", "pydantic", "pygments", "rich", "textual", "tree_sitter"}
"""What a start of the command line must not import."""


def requirement_names(group: list[str]) -> list[str]:
    return [re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in group]


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def python(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=60, cwd=cwd)


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    return grimp.build_graph("tui_agent", include_external_packages=True, cache_dir=None)


# ---- layers


def test_the_layers_hold() -> None:
    done = python("-c", "from importlinter.cli import lint_imports_command; lint_imports_command()", cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_core_knows_msgspec_and_the_standard_library_only(imports: grimp.ImportGraph) -> None:
    used = {
        name
        for module in ["tui_agent.core", *imports.find_descendants("tui_agent.core")]
        for name in imports.find_modules_directly_imported_by(module)
        if not name.startswith("tui_agent.core")
    }
    assert used - sys.stdlib_module_names <= {"msgspec"}


def test_what_is_imported_is_declared(imports: grimp.ImportGraph) -> None:
    providers = metadata.packages_distributions()
    foreign = {
        name.split(".")[0]
        for module in imports.modules
        if module.startswith("tui_agent")
        for name in imports.find_modules_directly_imported_by(module)
    } - sys.stdlib_module_names
    declared = {name.lower() for name in requirement_names(project()["dependencies"])}
    undeclared = {
        name
        for name in foreign - {"tui_agent"}
        if not declared & {owner.lower().replace("_", "-") for owner in providers.get(name, [])}
    }
    assert undeclared == set()


def test_imports_stand_on_top() -> None:
    """But where ``DEFERRED`` allows it."""
    found: list[str] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        if any(module == home or module.startswith(f"{home}.") for home in DEFERRED):
            continue
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                found += [
                    f"{module}:{node.lineno}"
                    for node in ast.walk(function)
                    if isinstance(node, ast.Import | ast.ImportFrom)
                ]
    assert found == []


# ---- the cost of a start


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("run", "--help")], ids=" ".join)
def test_the_command_line_starts_light(arguments: tuple[str, ...]) -> None:
    done = python("-X", "importtime", "-m", "tui_agent", *arguments)
    assert done.returncode == 0, done.stderr
    loaded = {
        line.rsplit("|", 1)[1].strip().split(".")[0] for line in done.stderr.splitlines() if "|" in line
    }
    assert "tui_agent" in loaded
    assert loaded & HEAVY == set()


def test_importing_the_command_line_is_light() -> None:
    done = python("-c", "import json, sys, tui_agent.cli; print(json.dumps(sorted(sys.modules)))")
    assert done.returncode == 0, done.stderr
    assert {name.split(".")[0] for name in json.loads(done.stdout)} & HEAVY == set()


# ---- what is shipped


def test_the_wheel_holds_package_themes_and_keys(tmp_path: Path) -> None:
    done = python("-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path), cwd=ROOT)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    themes = {path.name for path in (ROOT / "themes").glob("*.yaml")}
    assert themes
    assert {f"tui_agent/_assets/themes/{name}" for name in themes} <= names
    assert "tui_agent/_assets/keybindings.yaml" in names
    sources = {path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("*.py")}
    assert sources <= names
    top = {name.split("/")[0] for name in names}
    assert top == {"tui_agent", f"tui_agent-{project_version()}.dist-info"}


def project_version() -> str:
    text = (PACKAGE / "__init__.py").read_text()
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert found
    return found[1]


def test_the_changelog_knows_the_version() -> None:
    assert f"## [{project_version()}]" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize(
    "name",
    [
        "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "AGENTS.md", "Makefile", "pyproject.toml",
        "requirements.txt", "requirements-dev.txt", "keybindings.yaml", "themes", "screenshots", "docs", ".ci/run",
    ],
)  # fmt: skip
def test_what_the_top_level_promises(name: str) -> None:
    assert (ROOT / name).exists()


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_every_requirement_is_pinned_with_hashes(name: str) -> None:
    text = (ROOT / name).read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert lines
    for line in lines:
        assert re.match(r"^[\w.-]+==\S+( *; .+)? +--hash=sha256:[0-9a-f]{64}", line), line
    assert "://" not in text


# ---- what is documented


def document(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def in_backticks(text: str) -> set[str]:
    """Every piece of inline code, and every first word of one."""
    pieces = set(re.findall(r"`([^`\n]+)`", text))
    return pieces | {piece.split()[0] for piece in pieces if piece.split()}


def test_every_event_is_documented() -> None:
    assert set(EVENT_TYPES) - {"unknown"} - in_backticks(document("events.md")) == set()


def test_every_tool_is_documented() -> None:
    assert {tool.name for tool in default_tools()} - in_backticks(document("tools.md")) == set()


def structs_in(kind: Any) -> Iterator[tuple[str, type[msgspec.Struct]]]:
    """The configuration sections a type holds, with what stands for their place (``NAME`` in a map, ``[]`` in a list)."""
    origin = getattr(kind, "__origin__", None)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield "", kind
    elif isinstance(kind, UnionType):
        for part in get_args(kind):
            yield from structs_in(part)
    elif origin is dict:
        yield from ((".NAME" + place, section) for place, section in structs_in(get_args(kind)[1]))
    elif origin is tuple:
        yield from (("[]" + place, section) for place, section in structs_in(get_args(kind)[0]))


def configuration_keys(section: type[msgspec.Struct], above: str = "") -> Iterator[str]:
    """Dotted names, such as ``limits.max_steps``, ``models.NAME.price.input``, ``hooks.post_edit[].command``."""
    for field in msgspec.structs.fields(section):
        key = f"{above}{field.encode_name}"
        inner = list(structs_in(field.type))
        if not inner:
            yield key
        for place, below in inner:
            yield from configuration_keys(below, f"{key}{place}.")


def test_configuration_keys_are_walked() -> None:
    keys = set(configuration_keys(Config))
    assert {"model", "limits.max_steps", "models.NAME.price.input", "hooks.post_edit[].command"} <= keys


def test_every_configuration_key_is_documented() -> None:
    assert set(configuration_keys(Config)) - in_backticks(document("configuration.md")) == set()


def direct_dependencies() -> list[str]:
    data = project()
    groups = [data["dependencies"], *data["optional-dependencies"].values()]
    return sorted(name for group in groups for name in requirement_names(group))


def dependency_rows() -> dict[str, tuple[str, str]]:
    rows = re.findall(r"^\| ([\w.-]+) \| (.+) \| (.+) \|$", document("dependencies.md"), re.MULTILINE)
    return {name: (why, licence) for name, why, licence in rows if name != "package"}


def test_every_dependency_is_documented() -> None:
    assert sorted(dependency_rows()) == direct_dependencies()


@pytest.mark.parametrize("name", direct_dependencies())
def test_a_documented_licence_is_the_installed_one(name: str) -> None:
    why, licence = dependency_rows()[name]
    about = metadata.metadata(name)
    said = [*about.get_all("License-Expression", []), *about.get_all("License", [])]
    said += [line for line in about.get_all("Classifier", []) if line.startswith("License")]
    families = [
        family for family in ("Apache", "BSD", "LGPL", "MIT", "MPL", "Unlicense") if family in licence
    ]
    assert any(family in line for family in families for line in said), said
    assert why


def test_every_key_action_is_documented() -> None:
    """``keybindings.yaml`` is the documentation: each action has a comment, beside it or right above."""
    text = (ROOT / "keybindings.yaml").read_text(encoding="utf-8")
    actions = {action for context in yaml.safe_load(text).values() for action in context}
    lines = text.splitlines()
    documented = {
        found[1]
        for above, line in pairwise(lines)
        if (found := re.match(r"\s+([a-z_.]+):.*", line))
        and (re.search(r"\s# \w", line) or above.lstrip().startswith("# "))
    }
    assert actions
    assert actions - documented == set()


# ---- what never gets in


def repository_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True,
    )  # fmt: skip
    return [ROOT / name for name in sorted(listed.stdout.decode().split("\0")) if (ROOT / name).is_file()]


# Written in two halves, so that this file passes its own test.
UNWANTED = {
    "an address of a package index": r"\bpy" r"pi\.org|python" r"hosted\.org|registry\.npm" r"js|crates" r"\.io",
    "a path of somebody's machine": r"/wo" r"rk/(main|sha" r"red)\b|/ro" r"ot/|/(ho" r"me|Us" r"ers)/(?!(me|you|user)\b)\w+/",
    "a run's temporary folder": r"/tmp/pyt" r"est-of-",
    "a source that no reader has": r"\brows? \d[\d, and]* of" r" the\b|\((mission )?rows" r"? \d|mission ro" r"ws?\b|\bseed [A-Z]" r"\b|\bthe see" r"d('s)?\b",
    "a signature": r"(?i)co-auth" r"ored-by|generated (by|with) (an? )?(ai|llm|claude|gpt|copilot)\b",
}  # fmt: skip


@pytest.mark.parametrize("what", UNWANTED)
def test_nothing_unwanted_is_in_the_repository(what: str) -> None:
    pattern = re.compile(UNWANTED[what])
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path in repository_files()
        if path.suffix not in {".png", ".gif", ".ico"}
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []


def test_every_link_between_documents_leads_somewhere() -> None:
    dangling = [
        f"{path.relative_to(ROOT)}: {target}"
        for path in repository_files()
        if path.suffix == ".md"
        for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
        if "://" not in target and not (path.parent / target).exists()
    ]
    assert dangling == []


def test_the_map_names_what_is_there() -> None:
    """Every path in docs/architecture.md exists, in the package or at the top."""
    names = set(re.findall(r"`([\w/]+(?:/|\.(?:py|yaml|md)))`", document("architecture.md")))
    known = [ROOT, PACKAGE, *(path for path in PACKAGE.iterdir() if path.is_dir())]
    assert names
    assert {name for name in names if not any((place / name).exists() for place in known)} == set()
