"""Transforms: interpreters that give every primitive another meaning, and the backward pass.

They work on flat lists of values; `api/` adds pytrees, argument numbers and messages.
"""
