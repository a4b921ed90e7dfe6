"""What users call: transforms on functions of pytrees."""
