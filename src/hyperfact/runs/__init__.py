"""The story of a run: from a configuration to a directory, and the studies made of many.

Order: configurations, extensions, artifacts, ensemble_members, build, enlarge, sizes, defaults,
provenance, looks, catalog, run, record, experiment, api, check, model_list, plan, studies, tune.
"""
