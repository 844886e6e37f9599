"""A terminal app for working with a coding agent."""

__version__ = "0.1.0"
