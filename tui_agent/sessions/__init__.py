"""Sessions on disk: the append-only log and the store around it."""
