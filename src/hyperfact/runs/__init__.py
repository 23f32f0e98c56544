"""The story of a run: from a configuration to a directory, and the studies made of many.

Order: configurations, extensions, contents, artifacts, ensemble_members, device, sampled_graph,
build, streaming, enlarge, inductive, setup, weighing, sizes, defaults, provenance, looks,
catalog, launch, run, record, experiment, api, check, plan, plan_team, studies, model_list, tune.
"""
