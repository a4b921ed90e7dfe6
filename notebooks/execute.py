"""Run the notebooks: `python notebooks/execute.py [--write] [names ...]`. Any error in a cell fails; --write stores the outputs."""

from __future__ import annotations

import argparse
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent


def execute(path: Path, write: bool) -> None:
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(HERE.parent)}}).execute()
    for cell in notebook.cells:  # what changes from run to run is not kept
        cell.metadata = {}
    if write:
        notebook.metadata = {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
        nbformat.write(notebook, path)
    print(f"{path.name}: {sum(cell.cell_type == 'code' for cell in notebook.cells)} cells ran")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="which notebooks (default: all)")
    parser.add_argument("--write", action="store_true", help="store the outputs in the files")
    options = parser.parse_args()
    paths = [HERE / name for name in options.names] or sorted(HERE.glob("*.ipynb"))
    for path in paths:
        execute(path.resolve(), options.write)


if __name__ == "__main__":
    main()
