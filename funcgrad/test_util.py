"""Checks of derivatives for the tests of users' own code."""

from funcgrad.testing.gradients import check_grads, check_jvp, check_vjp

__all__ = ["check_grads", "check_jvp", "check_vjp"]
