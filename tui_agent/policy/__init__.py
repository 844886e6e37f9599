"""Who may do what: permission rules and post-edit hooks."""
