"""The picture of a plan: what is in it, and that nothing in a query can get out of its text."""

from xml.etree import ElementTree

from jupyter_stream.core.diagram import Diagram, Flow, Node
from jupyter_stream.views.plan_drawing import BOX, Pace, places, svg

NODES = (
    Node("source 0", "source", "scan <b>trades</b>", 1200, 1200, 4096, 12, shared_by="one, two"),
    Node("operator 0", "operator", "filter (note = '</svg><script>alert(1)</script>')", 1200, 900),
    Node("operator 1", "operator", "inner join", 2100, 40, 2_000_000, keeps="rows by key"),
    Node("result", "result", "answers of q", 40, 40),
)
FLOWS = (
    Flow("source 0", "operator 0", 1200, "WKS"),
    Flow("operator 0", "operator 1", 900, "WKS"),
    Flow("source 0", "operator 1", 1200, "WKS"),
    Flow("operator 1", "result", 40, "WK"),
)
DIAGRAM = Diagram("q", NODES, FLOWS, "text")


def test_no_two_boxes_overlap_and_each_is_below_what_feeds_it():
    where = places(DIAGRAM)
    assert len(set(where.values())) == len(NODES)
    for flow in FLOWS:
        assert where[flow.target][1] >= where[flow.source][1] + BOX[1]


def test_text_of_a_query_stays_text():
    drawn = svg(DIAGRAM)
    tree = ElementTree.fromstring(drawn)
    names = {element.tag.rpartition("}")[2] for element in tree.iter()}
    assert "script" not in names and "b" not in names
    assert "</svg><script>" in "".join(tree.itertext())


def test_counts_rates_growth_and_labels_are_in_the_picture():
    text = "".join(
        ElementTree.fromstring(svg(DIAGRAM, Pace({("source 0", "operator 0"): 50.0}, {"operator 1": 1e6}))).itertext()
    )
    assert "1,200 rows, 50/s" in text and "WKS" in text
    assert "12 rows waiting" in text and "shared by one, two" in text
    assert "2.0 MB +1.0 MB/s" in text


def test_a_chosen_box_is_marked():
    assert svg(DIAGRAM, chosen="operator 1") != svg(DIAGRAM)


def test_paper_and_ink_are_those_of_the_pages_theme_and_plain_where_there_is_none():
    tree = ElementTree.fromstring(svg(DIAGRAM))
    used = {e.attrib[a] for e in tree.iter() for a in ("fill", "stroke") if e.attrib.get(a, "none") != "none"}
    borders = {c for c in used if c.startswith("#")}
    assert borders == {
        e.attrib["stroke"] for e in tree.iter("{http://www.w3.org/2000/svg}rect") if "stroke" in e.attrib
    }
    assert all(c.startswith("var(--vscode-") and ",var(--jp-" in c and ",#" in c for c in used - borders)
