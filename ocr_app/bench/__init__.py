"""Measurements. Each prints what it ran on and ends with one line of JSON."""
