"""What every model promises, as a suite that anybody can run on their own.

Order: promises, contract.
"""
