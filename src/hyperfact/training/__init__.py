"""What is minimised, how, for how long, and what survives a crash.

Order: averaging, distributed, pieces, checkpoints, events, compiled, adversarial, cubes, share,
objective, joint, with_numbers, streamed, objectives, gradients, optimizer, trainer.
"""
