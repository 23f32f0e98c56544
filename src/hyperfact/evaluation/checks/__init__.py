"""What every model promises, as a suite that anybody can run on their own.

Order: example_facts, promises, contract.
"""
