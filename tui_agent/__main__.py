"""``python -m tui_agent``."""

from tui_agent.cli import main

main()
