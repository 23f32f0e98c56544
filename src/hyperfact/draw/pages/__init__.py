"""Every HTML page and report: one set of templates, one look.

Order: filters, environment, audit_page, moved_chart, report.
"""
