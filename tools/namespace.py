"""The import namespace as a folder, for tools that look for modules by path: mypy and the documentation.

setup.cfg maps the folders ``solvers`` and ``benchmarks`` into the package ``pacb_models``. Python knows that after an
installation; a tool that reads sources does not. This makes ``build/namespace/pacb_models`` of symbolic links.
"""

import os
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAPPED = ("solvers", "benchmarks")


def link_namespace(root: Path = ROOT) -> Path:
    """Make or renew the folder of links; what it returns goes on a tool's search path."""
    package = root / "build" / "namespace" / "pacb_models"
    package.mkdir(parents=True, exist_ok=True)
    targets = {path.name: path for path in (root / "pacb_models").iterdir() if path.name != "__pycache__"}
    targets |= {name: root / name for name in MAPPED}
    for link in package.iterdir():
        if link.name not in targets and link.is_symlink():
            link.unlink(missing_ok=True)
    for name, target in targets.items():
        link = package / name
        if not link.is_symlink():
            # Two processes may do this at the same time.
            with suppress(FileExistsError):
                link.symlink_to(os.path.relpath(target, package))
    return package.parent


if __name__ == "__main__":
    print(link_namespace())
