"""Questions with several blanks: formulas over facts, as text, as JSON, as SPARQL.

Order: formula, query_text, query_json, sparql, any_query.
"""
