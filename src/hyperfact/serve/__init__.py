"""Trained runs over HTTP: a JSON API and a page (extra `serve`).

Order: models, projection, replies, static_files, wire, batching, openapi, shown, asking, cards,
exactness, guard, maps, download, entities, http, results, routes, pages, app, warm, start.
"""
