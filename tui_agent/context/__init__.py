"""Preparing what the model reads: prompt parts, the three levels of shrinking, repair."""
