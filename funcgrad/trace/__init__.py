"""Running the user's Python: the interpreter stack, `bind`, the base of array and tracer, staging."""
