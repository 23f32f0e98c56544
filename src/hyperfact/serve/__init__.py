"""Trained runs over HTTP: a JSON API and a page (extra `serve`)."""
