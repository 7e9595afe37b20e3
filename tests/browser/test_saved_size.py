"""The size of a saved notebook full of live views."""

import json

from tests.tiers import slow

DEMO = "from demo import Demo\nfrom jupyter_stream import views\nfrom jupyter_stream.views import ViewOptions as V\n"
LIVE = ".jupyter-stream-live"


@slow
def test_ten_live_views_are_saved_in_less_than_two_megabytes(open_notebook, lab):
    cell = "views.display(Demo(keys=[f'k{i}' for i in range(8)]).advance(200).run(0.5), V(last=2000));"
    book = open_notebook("ten.ipynb", [DEMO + "\n".join([cell] * 10)])
    book.run(0)
    book.page.wait_for_function(f"() => document.querySelectorAll('{LIVE}').length === 10")
    book.wait_idle()
    book.page.wait_for_timeout(6_000)
    book.save()
    on_disk = lab.root / "ten.ipynb"
    assert 20_000 < on_disk.stat().st_size < 2_000_000
    assert len(json.loads(on_disk.read_text())["cells"][0]["outputs"]) == 20
