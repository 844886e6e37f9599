"""Readers of the event stream: human trace, export, the JSON result."""
