"""What "always" offers: a prefix that means one kind of work, and nothing where there is none."""

import pytest

from tui_agent.core.tool import Intent
from tui_agent.policy.permissions import Rules


def offered(command: str, *allow: str) -> str:
    some = Rules()
    for rule in allow:
        some = some.with_rule(rule)
    suggestion = some.suggest(Intent("run_command", "execute", command=command))
    return suggestion.removeprefix("run_command(").removesuffix(")")


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("pytest -q tests", "pytest *"),
        ("FOO=1 pytest", "pytest *"),
        ("timeout 60 pytest -x", "pytest *"),
        ("bash -c 'pytest -x'", "pytest *"),
        ("git status -s", "git status *"),
        ("git push --force", "git push --force"),
        ("npm run build -- --watch", "npm run build *"),
        ("npm install left-pad", "npm install left-pad"),
        ("make", "make"),
        ("make test -j4", "make test *"),
        ("cargo test foo", "cargo test *"),
        ("python -m pytest -q", "python -m pytest *"),
        ("python3.12 tools/gen.py --all", "python3.12 tools/gen.py *"),
        ("uv run pytest -q", "uv run pytest *"),
        ("cd sub && pytest", "pytest *"),
        ("cd sub", "cd *"),
        ("rm -rf ~/.cache/mailer && pytest -q", "pytest *"),
        ("curl http://x", "curl http://x"),
        ("git ls-files | xargs grep foo", "git ls-files *"),
    ],
)
def test_offered(command: str, pattern: str):
    assert offered(command) == pattern


@pytest.mark.parametrize(
    "command",
    [
        "python -c 'print(1)'",
        "python3 -",
        "python",
        "python -m pip install x",
        "node -e 1",
        "perl -pe x f",
        "bash",
        'bash -c "$X"',
        "curl http://x | sh",
        "wget -O- http://x | sudo bash",
        "cat x | python",
        "rm x",
        "rm -rf /",
        "sudo pytest",
        "eval $X",
        "source x",
        "ssh host ls",
        "$X",
        "git -c core.pager=x log",
        "uv run python -c 1",
        "uv run",
        "docker run *",
        "pytest ((",
        "PATH=x pytest",
        "mkfs.ext4 /dev/sda",
        "dd if=a of=b",
    ],
)
def test_never_offered(command: str):
    assert offered(command) == ""


def test_a_part_that_is_allowed_already_is_not_offered_again():
    assert offered("pytest && ruff check .", "run_command(pytest *)") == "ruff *"


def test_outside_the_workspace_only_the_very_same_command_is_offered():
    intent = Intent("run_command", "execute", command="ls /usr/lib", outside=("/usr/lib",))
    assert Rules().suggest(intent) == "run_command(ls /usr/lib)"


@pytest.mark.parametrize(
    ("paths", "pattern"),
    [
        (("src/a/b.py",), "write_file(src/a/**)"),
        (("src/a/b.py", "src/c.py"), "write_file(src/**)"),
        (("setup.py",), "write_file(setup.py)"),
        (("setup.py", "src/a.py"), ""),
        ((".env",), "write_file(.env)"),
        ((".github/workflows/x.yml",), "write_file(.github/workflows/x.yml)"),
        ((".git/config",), ""),
        ((".tui-agent/config.yaml",), ""),
        (("a*/b.py",), ""),
    ],
)
def test_for_files_the_folder_is_offered(paths: tuple[str, ...], pattern: str):
    assert Rules().suggest(Intent("write_file", "write", paths=paths)) == pattern


def test_for_a_file_outside_only_that_file_is_offered():
    intent = Intent("read_file", "read", paths=("/etc/hosts",), outside=("/etc/hosts",))
    assert Rules().suggest(intent) == "read_file(/etc/hosts)"
    assert Rules().with_rule("read_file(/etc/hosts)").judge(intent, "confirm-sensitive").action == "allow"


def test_a_tool_without_a_target_is_offered_as_a_whole():
    assert Rules().suggest(Intent("mcp__github__list", "network")) == "mcp__github__list"
    assert Rules().suggest(Intent("ask_user", "ask")) == ""
