import base64
import io
import json
import re
import xml.etree.ElementTree as ET

import pytest
from PIL import Image

from jupyter_stream.errors import QueryError, SourceError
from jupyter_stream.views import ViewOptions, save
from jupyter_stream.views.chart import KINDS
from jupyter_stream.views.chart_file import save as save_as
from jupyter_stream.views.export import FORMATS
from tests.tiers import thinned

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.mark.parametrize("chart", thinned([kind.name for kind in KINDS], 8))
def test_every_chart_becomes_a_picture_on_the_paper_of_its_theme(demo, chart, tmp_path):
    query = demo().advance(12)
    for theme, paper in (("light", (255, 255, 255)), ("dark", (17, 20, 24))):
        file = save_as(query, tmp_path / f"{theme}.png", ViewOptions(chart=chart), theme)
        image = Image.open(io.BytesIO(file.read_bytes())).convert("RGB")
        assert image.getpixel((2, image.height - 3)) == paper
        assert len(image.getcolors(1 << 24)) > 20
    root = ET.fromstring(save_as(query, tmp_path / "x.svg", ViewOptions(chart=chart)).read_text())
    assert root.tag.endswith("svg") and len(list(root.iter())) > 10


def test_what_stands_in_the_page_is_text(demo, tmp_path):
    query = demo(name=EVIL, keys=[EVIL, "b"], units={"speed": EVIL}).advance(4)
    page = save(query, tmp_path / "x.html").read_text()
    assert "<img" not in page and "alert(1)</script>" not in page
    data = json.loads(re.search(r'<script type="application/json" id="said">(.*?)</script>', page, re.DOTALL)[1])
    assert data["message"]["head"]["name"] == EVIL
    assert EVIL in data["message"]["columns"]["r.2"]["text"]
    assert len(base64.b64decode(data["library"])) > 100_000


def test_a_table_needs_no_library_in_its_page(demo, tmp_path):
    assert len(save_as(demo().advance(4), tmp_path / "x.html", ViewOptions(chart="table")).read_text()) < 100_000


def test_what_cannot_be_saved_is_refused_and_no_file_is_left(demo, tmp_path):
    query = demo().advance(4)
    with pytest.raises(QueryError, match="Did you mean png"):
        save(query, tmp_path / "x.pngg")
    with pytest.raises(QueryError, match="theme"):
        save(query, tmp_path / "x.png", theme="auto")
    with pytest.raises(QueryError, match="no answer yet"):
        save(demo(), tmp_path / "x.png")
    with pytest.raises(SourceError, match="can't be written"):
        save(query, tmp_path / "no" / "folder.svg")
    assert list(tmp_path.iterdir()) == []
    assert set(FORMATS) == {"png", "svg", "html"}
