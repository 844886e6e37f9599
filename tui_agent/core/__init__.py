"""The vocabulary every layer speaks: messages, events, commands, tool types and errors."""
