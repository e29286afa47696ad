"""Print all violations of the project's conventions: `python -m tests.support.conventions`."""

from __future__ import annotations

from tests.support.conventions import constructors, imports, lines, names, privates

FOLDERS = ("cactus_actors", "cactus_actors.router", "cactus_actors.workers", "cactus_actors.gateway")

for title, found in (
    *((f"import circles of folders in {folder}", imports.circles_of_folders(folder)) for folder in FOLDERS),
    ("import circles of files", imports.circles_of_files()),
    ("imports from files of tests", imports.imports_from_tests()),
    ("files of more than 400 lines", lines.long_files(400)),
    ("constructors of more than 8 arguments", constructors.large_constructors(8)),
    ("public classes of one name", names.classes_of_one_name()),
    ("files of one name in one package", names.files_of_one_name()),
    ("private names read across folders", privates.reads_across_packages()),
    ("private names of the product that tests read", privates.reads_by_tests()),
    ("lines of more than 120 columns", lines.long_lines(120)),
):
    print(f"\n{title}: {len(found)}")
    print(*(f"  {line}" for line in found), sep="\n")
print(f"\nmedian lines of a product file: {lines.median_lines()}")
