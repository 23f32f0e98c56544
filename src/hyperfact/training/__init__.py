"""What is minimised, how, for how long, and what survives a crash.

Order: averaging, distributed, pieces, checkpoints, events, adversarial, objective, joint,
with_numbers, objectives, gradients, optimizer, trainer.
"""
