"""Comparisons with PyTorch: these tests need it installed (`make parity`), the rest of the tests do not."""
