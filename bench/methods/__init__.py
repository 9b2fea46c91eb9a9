"""Methods: who is measured."""
