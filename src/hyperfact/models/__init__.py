"""Encoders, decoders, who stands for a stranger, and the model that joins them.

Order: model_card, noise, shard, graph_pass, unseen, representations, decoders, encoders, transeq.
"""
