"""The command line: each room of commands is a module; importing it adds them to the app.

Order: visible, printing, common, options, answers, data, engines, convert, counts, env, progress,
results, serve, signals, split, add, ask, whatif, queries, query_bench, audit, extend, models_list,
graph, learn, demo, judge, compare, reproduce, runs, tune.
"""

from importlib import import_module

from hyperfact.cli.common import app, main

#: Every module with commands. Adding a command: a function in one of them.
ROOMS = (
    *(
        "data",
        "convert",
        "counts",
        "split",
        "env",
        "audit",
        "graph",
        "demo",
        "learn",
        "ask",
        "whatif",
        "judge",
        "compare",
        "runs",
        "add",
        "queries",
        "query_bench",
        "serve",
    ),
    *("reproduce", "tune", "models_list", "extend"),
)
for _room in ROOMS:
    import_module(f"hyperfact.cli.{_room}")

__all__ = ["app", "main"]
