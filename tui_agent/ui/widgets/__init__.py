"""Widgets: they receive view data, draw it and post messages."""
