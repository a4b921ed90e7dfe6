"""The primitives, one family a file. All that is known of an operator is said in one declaration."""
