"""The story of a run: from a configuration to a directory, and the studies made of many.

Order: configurations, artifacts, build, provenance, catalog, run, record, experiment, api, plan,
studies, tune.
"""
