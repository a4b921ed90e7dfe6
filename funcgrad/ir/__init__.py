"""Programs as data: primitives, and the Jaxprs made of them. Imports `core` only."""
