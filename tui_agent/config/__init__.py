"""Configuration: sections, precedence, trust and paths."""
