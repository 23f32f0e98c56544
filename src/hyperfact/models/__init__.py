"""Encoders, decoders, who stands for a stranger, and the model that joins them.

Order: family, model_card, noise, shard, graph_pass, unseen, numbers, evidence, hypergraph,
representations, decoders, encoders, transeq, newcomers, introduction, ensemble.
"""
