"""Measurements, run by ``make bench``: they print a table and assert nothing, because times belong to a machine."""
