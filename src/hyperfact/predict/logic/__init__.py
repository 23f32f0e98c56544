"""Questions with several blanks: logical queries over the facts and the probabilities of a run.

Order: tnorms, program, matching, truths, effort, solving, witnesses, replying, asker.
"""
