"""Fused CPU kernels of graph encoders, losses and ranking, each with a plain PyTorch reference."""
