"""Measure: time, memory and objective of a contestant, one record per run."""
