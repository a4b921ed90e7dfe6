"""The nouns: dtypes, abstract values, pytrees, options, errors, places in the user's program. Imports nothing of the package."""
