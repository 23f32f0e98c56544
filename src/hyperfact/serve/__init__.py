"""Trained runs over HTTP: a JSON API and a page (extra `serve`).

Order: opened, projection, replies, static_files, wire, batching, openapi, addresses, asking, cards,
exactness, guard, maps, download, entities, http, results, routes, page_routes, app, warm, start.
"""
