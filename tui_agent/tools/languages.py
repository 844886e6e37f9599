"""Pygments names of languages by file name, for the display of files (loading pygments' own table costs 30 ms)."""

from __future__ import annotations

_BY_SUFFIX = {
    "py": "python", "pyi": "python", "js": "javascript", "mjs": "javascript", "cjs": "javascript", "jsx": "jsx",
    "ts": "typescript", "tsx": "tsx", "json": "json", "jsonl": "json", "yaml": "yaml", "yml": "yaml", "toml": "toml",
    "ini": "ini", "cfg": "ini", "md": "markdown", "rst": "rst", "html": "html", "htm": "html", "css": "css", "scss": "scss",
    "xml": "xml", "svg": "xml", "sh": "bash", "bash": "bash", "zsh": "zsh", "fish": "fish", "ps1": "powershell", "bat": "bat",
    "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "cxx": "cpp", "hpp": "cpp", "rs": "rust", "go": "go", "java": "java",
    "kt": "kotlin", "swift": "swift", "cs": "csharp", "rb": "ruby", "php": "php", "pl": "perl", "lua": "lua", "r": "r",
    "jl": "julia", "scala": "scala", "ex": "elixir", "exs": "elixir", "erl": "erlang", "hs": "haskell", "clj": "clojure",
    "sql": "sql", "proto": "protobuf", "graphql": "graphql", "tf": "terraform", "vue": "vue", "diff": "diff", "patch": "diff",
    "tex": "tex", "vim": "vim", "zig": "zig", "nix": "nix", "dart": "dart", "cmake": "cmake",
}  # fmt: skip
_BY_NAME = {"Makefile": "make", "makefile": "make", "Dockerfile": "docker", "CMakeLists.txt": "cmake"}


def language_of(name: str) -> str:
    """The pygments name for a file's bare name, empty if unknown."""
    return _BY_NAME.get(name) or _BY_SUFFIX.get(name.rpartition(".")[2].lower(), "")
