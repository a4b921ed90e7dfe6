"""Programs as data: primitives, and the Jaxprs made of them. Imports `core` only."""

from funcgrad.ir import pretty as pretty  # gives Jaxpr its notation
