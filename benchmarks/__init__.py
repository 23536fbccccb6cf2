"""Workloads written once per system, each in that system's own idiom, timed side by side in one process: `python -m
benchmarks`.
"""
