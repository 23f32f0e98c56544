"""The machine: whole files or none, safe reads, locks, memory, streams of facts.

Order: lock, memory, output, reading, source, writing, tables.
"""
