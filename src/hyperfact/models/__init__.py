"""Encoders, decoders, and the model that joins them."""
