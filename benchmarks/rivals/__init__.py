"""Strategies from the literature, to compare with: each as faithful to its paper or code as our contract allows.

A strategy can copy the latest weights of an agent or begin with fresh ones. It cannot reach into weights, and it cannot
load weights of an earlier interval. Where a rival needs that, its first lines say what it does instead.
"""
