"""The look of our pages: light and dark by the reader's setting, one column when narrow."""

STYLE = """
:root { color-scheme: light dark;
  --paper: #f6f7f9; --card: #ffffff; --ink: #1b2430; --soft: #5b6775; --line: #dfe4ea;
  --track: #e9edf2; --leak: #b3261e; --warning: #8a5a00; --info: #1f5fa8; --ok: #1b6e3c;
  --leak-bg: #fdeceb; --warning-bg: #fdf3dd; --info-bg: #e8f1fb; --ok-bg: #e6f5ec;
  --train: #3b6fb6; --valid: #c8842a; --test: #7a4fa3; --aux: #6b7785; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #12161c; --card: #1b2129; --ink: #e6ebf1; --soft: #9eabb9; --line: #2d3641;
  --track: #2a323c; --leak: #ff8a80; --warning: #f2bd5c; --info: #83b8f5; --ok: #7fd3a0;
  --leak-bg: #3a1d1c; --warning-bg: #35290f; --info-bg: #18293d; --ok-bg: #16301f;
  --train: #6c9fe0; --valid: #e0a552; --test: #b08ad6; --aux: #93a0ae; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 32px 24px 48px; }
h1 { font-size: 28px; line-height: 1.2; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 36px 0 12px; }
h3 { font-size: 16px; margin: 0; }
p { margin: 0; }
.soft { color: var(--soft); }
.badges { display: flex; flex-wrap: wrap; gap: 8px; margin-top: 16px; }
.badge { border-radius: 999px; padding: 2px 12px; font-weight: 600; font-size: 13px;
  white-space: nowrap; }
.leak.badge { color: var(--leak); background: var(--leak-bg); }
.warning.badge { color: var(--warning); background: var(--warning-bg); }
.info.badge { color: var(--info); background: var(--info-bg); }
.ok.badge { color: var(--ok); background: var(--ok-bg); }
.grid { display: grid; gap: 16px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px),
  1fr)); }
.sizes { display: grid; gap: 16px; margin-top: 24px;
  grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 16px 18px; min-width: 0; }
.card h2 { margin-top: 0; }
.number { font-size: 24px; font-weight: 650; font-variant-numeric: tabular-nums; line-height: 1.3; }
.bar { display: grid; grid-template-columns: minmax(0, 11em) 1fr 4.6em; gap: 10px;
  align-items: center; padding: 3px 0; font-size: 14px; }
.bar span:last-child { text-align: right; font-variant-numeric: tabular-nums; }
.bar svg { display: block; width: 100%; height: 12px; }
.track { fill: var(--track); }
.fill-leak { fill: var(--leak); } .fill-warning { fill: var(--warning); }
.fill-info { fill: var(--info); } .fill-ok { fill: var(--ok); }
.fill-train { fill: var(--train); } .fill-valid { fill: var(--valid); }
.fill-test { fill: var(--test); } .fill-aux { fill: var(--aux); }
.key { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin: 0 6px 0 14px; }
.key:first-child { margin-left: 0; }
.key-train { background: var(--train); } .key-valid { background: var(--valid); }
.key-test { background: var(--test); } .key-aux { background: var(--aux); }
.arity { display: grid; grid-template-columns: 3.2em 1fr; gap: 10px; padding: 6px 0;
  border-top: 1px solid var(--line); font-size: 14px; }
.arity .bar { grid-template-columns: 1fr 4.6em; padding: 0; }
.meaning { font-size: 14px; font-weight: 400; color: var(--soft); margin-left: 6px; }
.cards { display: grid; gap: 12px; }
.info-cards { align-items: start;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); }
.finding { border-left: 4px solid var(--line); }
.finding.edge-leak { border-left-color: var(--leak); }
.finding.edge-warning { border-left-color: var(--warning); }
.finding.edge-info { border-left-color: var(--info); }
.head { display: flex; flex-wrap: wrap; gap: 6px 10px; align-items: center; margin-bottom: 6px; }
.reason { color: var(--soft); margin-bottom: 8px; }
details { margin: 4px 0 8px; }
summary { cursor: pointer; color: var(--soft); font-size: 14px; }
code { display: block; margin-top: 6px; padding: 6px 10px; background: var(--paper);
  border-radius: 6px; font: 13px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace;
  overflow-wrap: anywhere; white-space: pre-wrap; }
ul.clear { columns: 320px; column-gap: 24px; margin: 0; padding: 0; list-style: none; }
ul.clear li { break-inside: avoid; padding: 2px 0; }
ul.clear li::before { content: "\\2713"; color: var(--ok); font-weight: 700; margin-right: 8px; }
.chart { display: block; width: 100%; height: auto; }
.chart text { fill: var(--soft); font-size: 12px; }
.axis { fill: none; stroke: var(--line); }
.line-train, .line-valid, .line-test, .line-aux { fill: none; stroke-width: 2; }
.line-train { stroke: var(--train); } .line-valid { stroke: var(--valid); }
.line-test { stroke: var(--test); } .line-aux { stroke: var(--aux); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; width: 100%;
  font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 5px 10px; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; }
th:first-child, td:first-child { text-align: left; }
footer { margin-top: 40px; font-size: 13px; color: var(--soft); }
@media (max-width: 560px) { main { padding: 20px 14px 32px; } h1 { font-size: 23px; }
  .card { padding: 14px; } .overlap .bar { grid-template-columns: 1fr 4.6em; }
  .meaning { display: block;
  margin: 2px 0 0; } .overlap .bar span:first-child { grid-column: 1 / -1; margin-bottom: -6px; } }
"""
