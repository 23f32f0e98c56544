"""Encoders, decoders, who stands for a stranger, and the model that joins them.

Order: family, model_card, noise, shard, neighbourhood, graph_pass, unseen, numbers, evidence,
hypergraph, representations, deferred, mediator_vectors, decoders, read_apart, encoders, transeq,
nearby, newcomers, introduction, ensemble.
"""
