"""Encoders, decoders, who stands for a stranger, and the model that joins them.

Order: noise, unseen, decoders, encoders, transeq.
"""
