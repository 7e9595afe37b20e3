"""The railroad diagrams of the reference: they are the grammar's, all of it, and stay inside a page."""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).parents[2] / "tutorials" / "reference"))
from railroad_pictures import GRAMMAR, LISTS, PAGE, drawn, page, parts, words

DRAWN = {part.picture: drawn(part) for part in parts()}
TEXTS = "{http://www.w3.org/2000/svg}text"


def test_the_pictures_and_their_page_are_the_grammars():
    again = "run: python tutorials/reference/railroad_pictures.py"
    assert PAGE.read_text(encoding="utf-8") == page(), again
    for picture, svg in DRAWN.items():
        assert picture.read_text(encoding="utf-8") == svg, again


def test_each_word_and_each_rule_of_the_grammar_is_in_a_picture():
    text = GRAMMAR.read_text(encoding="utf-8")
    rules = re.sub(r"^//.*$", "", text[: text.index("\nWORD: ")], flags=re.MULTILINE)
    shown = {found.text for svg in DRAWN.values() for found in ElementTree.fromstring(svg).iter(TEXTS)}
    assert set(re.findall(r'"([^"]+)"', rules)) - set(words("reserved")) - set(words("stops")) <= shown
    names = {n.replace("_", " ") for n in re.findall(r"^(\w+):", rules, re.MULTILINE)} - set(LISTS)
    assert names <= shown and len(names) > 60


def test_no_track_is_wider_than_a_page():
    for picture, svg in DRAWN.items():
        assert float(ElementTree.fromstring(svg).get("width")) <= 1_000, picture.name
