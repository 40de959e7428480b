"""Sums under threshold CKKS, for the trust `encrypted`. EXPERIMENTAL: nobody outside has reviewed it."""
