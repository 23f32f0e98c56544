"""The wire: sockets, deadlines and bounds, apart from what is asked.

Order: messages, limits, refusals, exchange, logs, connection, server.
"""
