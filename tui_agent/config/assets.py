"""Files that ship with the program: in a checkout they lie at its top, in an installed package under ``_assets``."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def themes_dir() -> Path:
    """The folder of the bundled themes."""
    return _asset("themes")


def keybindings_file() -> Path:
    """The shipped default keys."""
    return _asset("keybindings.yaml")


def _asset(name: str) -> Path:
    """The checkout comes first: an edit there must show, even if a build left a copy behind."""
    checkout = _PACKAGE.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / name).exists():
        return checkout / name
    return _PACKAGE / "_assets" / name
