"""Thin adapters to tools that users already have. Each is imported by name, and needs its own package."""
