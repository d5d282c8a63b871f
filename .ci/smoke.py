"""Check what a smoke run left, from its folder: a stamped report, its tables, a number for most cells."""

import csv

from pypdf import PdfReader

pages = [page.extract_text() for page in PdfReader("report/smoke.pdf").pages]
assert len(pages) >= 4, f"the report has {len(pages)} pages"
assert all("No measurement" in page for page in pages), "a page without the stamp"
text = " ".join(" ".join(pages).split())
for wanted in ("Densely connected RBM", "OpenBLAS, one core", "PyTorch, all cores", "GTX 280", "tables.html"):
    assert wanted in text, f"the report does not say {wanted!r}"
for path, words in {
    "report/smoke.html": ("tables.html", "rbm.csv"),
    "results/smoke/tables.html": ("Densely connected RBM", "Matrix products alone", "No measurement"),
}.items():
    with open(path) as file:
        html = file.read()
    for wanted in words:
        assert wanted in html, f"{path} does not say {wanted!r}"
with open("results/smoke/tables/cells.csv") as file:
    cells = list(csv.DictReader(file))
for cell in cells:
    # A neighbour of the CI machine may contaminate a cell; nothing but a missing GPU may keep one from running.
    expected = {"settled", "wide", "contaminated"} | ({"cannot-run"} if cell["profile"].startswith("gpu") else set())
    assert cell["status"] in expected, f"{cell['experiment']} {cell['case']} {cell['profile']}: {cell['reason']}"
here = [cell for cell in cells if not cell["profile"].startswith("gpu")]
measured = sum(bool(cell["seconds"]) for cell in here)
assert measured > len(here) / 2, f"of {len(here)} cells of CPU rows only {measured} were measured"
print(f"the report has {len(pages)} pages, each stamped, with its tables")
