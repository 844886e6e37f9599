"""The parts of the second fold: what each group of events means for the screen."""
