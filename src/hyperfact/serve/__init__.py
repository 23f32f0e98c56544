"""Trained runs over HTTP: a JSON API and a page (extra `serve`).

The wire (`http`) knows nothing of what is asked; `app` is plain ASGI and runs on any server.

Order: http, fact_counts, opened, projection, change_replies, replies, requests, static_files,
batching, openapi, addresses, asking, querying, cards, exactness, guard, maps, download, entities,
results, routes, page_routes, app, warm, workers, start.
"""
