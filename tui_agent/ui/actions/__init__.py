"""What the actions of the keymap do, grouped by what they touch. Each group has a ``table`` by action id."""
