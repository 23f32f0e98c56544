"""The complexity table: what each transformation costs, counted beside the paper's formula."""

from dataclasses import asdict
from typing import Any

from hyperfact.errors import UserError
from hyperfact.runs.studies import plots
from hyperfact.runs.studies.result_tables import to_markdown
from hyperfact.runs.studies.study import Plan, Study, Workspace
from hyperfact.transforms.complexity import costs


class Complexity(Study):
    """No training: nodes, edges and relations of every transformation."""

    name = "complexity"
    title = "Size of the transformed graph"
    datasets = ("FB-AUTO", "JF17K", "WD50K")

    def run(self, workspace: Workspace, plan: Plan) -> list[dict[str, Any]]:
        """Count.

        Raises:
            UserError: Rows were chosen, which is for studies that train; or there is a table
                already and the study is not to be resumed.
        """
        if plan.rows:
            raise UserError(f"{self.name} trains nothing, so that no rows can be chosen")
        if plan.train and not workspace.resume and (workspace.folder / f"{self.name}.md").exists():
            raise UserError(f"{workspace.folder}: holds a table already; --resume counts again")
        lines = [
            {"dataset": dataset} | asdict(cost)
            for dataset in self.datasets_of(plan)
            for cost in costs(workspace.facts(dataset))
        ]
        text = f"# {self.title}\n\n{to_markdown(lines, list(lines[0]))}"
        self.put(workspace.folder, lines, text, plots.sizes(lines, self.title))
        return lines
