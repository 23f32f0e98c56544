"""The machine: whole files or none, safe reads, locks, memory, streams of facts.

Order: clock, cores, torchrun, memory, reading, lock, source, writing, table_texts, tables,
dialects, engine, spark.
"""
