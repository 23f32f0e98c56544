"""The wire: sockets, deadlines and bounds, apart from what is asked.

Order: exchange, logs, connection, server.
"""
