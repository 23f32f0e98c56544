"""The story of a run: from a configuration to a directory, and the studies made of many.

Order: artifacts, build, provenance, catalog, run, experiment, api, plan, studies, tune.
"""
