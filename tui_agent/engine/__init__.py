"""The loop: state folded from events, one decision function, one place that acts."""
