"""Encoders, decoders, who stands for a stranger, and the model that joins them.

Order: model_card, noise, graph_pass, unseen, evidence, representations, decoders, encoders,
transeq.
"""
