"""A contract for import-linter: what is private in a package is imported by that package alone."""

from typing import Any

from importlinter import Contract, ContractCheck, output


class PrivateContract(Contract):
    """Refuses `from popbandits.run._log import …` outside `popbandits.run`; modules at the root are everybody's."""

    type_name = "private"

    def check(self, graph: Any, verbose: bool) -> ContractCheck:
        found = []
        for module in sorted(graph.modules):
            package, _, name = module.rpartition(".")
            if not name.startswith("_") or name.startswith("__") or "." not in package:
                continue
            importers = graph.find_modules_that_directly_import(module)
            found += [f"{i} imports {module}" for i in sorted(importers) if not f"{i}.".startswith(f"{package}.")]
        return ContractCheck(kept=not found, metadata={"found": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for line in check.metadata["found"]:
            output.print_error(line)
