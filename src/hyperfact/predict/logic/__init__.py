"""Questions with several blanks: logical queries over the facts and the probabilities of a run.

Order: tnorms, program, matching, truths, effort, query_rows, steps, fact_truth, solving,
witnesses, replying, asker, query_sql, database, query_shapes, drafts, sampling, query_files,
query_ranks.
"""
