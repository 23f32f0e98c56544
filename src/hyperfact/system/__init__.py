"""The machine: whole files or none, safe reads, locks, memory, streams of facts.

Order: clock, cores, lock, memory, output, reading, source, writing, tables.
"""
