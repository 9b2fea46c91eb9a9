"""Measurements: `python -m bench` lists them."""
