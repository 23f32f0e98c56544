"""The story of a run: from a configuration to a directory, and the studies made of many.

Order: configurations, extensions, artifacts, device, build, sizes, defaults, provenance, looks,
catalog, launch, run, record, experiment, api, check, model_list, plan, plan_team, studies, tune.
"""
