"""Where the wings meet: `Array` (abstract value + buffer), eager evaluation, and the call of a traced program."""
