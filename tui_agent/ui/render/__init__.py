"""Blocks to lines: what a block says, independent of width (``lines``), and how it fits a width (``layout``)."""
