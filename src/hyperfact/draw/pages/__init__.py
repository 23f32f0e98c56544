"""Every HTML page and report.

Order: style, html, audit_page, report.
"""
