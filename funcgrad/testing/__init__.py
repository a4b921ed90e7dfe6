"""For users' own tests: derivatives against finite differences, and counts of what is otherwise invisible."""

from funcgrad.testing.counting import counters
from funcgrad.testing.gradients import check_grads, check_jvp, check_vjp

__all__ = ["check_grads", "check_jvp", "check_vjp", "counters"]
