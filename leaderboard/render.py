"""Figures to files: svg, png, an offline page, the spec; and svg to what a page can hold inline.

The same spec gives the same bytes. The offline page holds Vega itself (the bundle that vl-convert ships) and loads
nothing. Inline, a figure's marks get a title for hover and a link; Vega's own roles are dropped, because the figure
is described in words beside it.
"""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import orjson

from arena.leaderboard.plots import Figure, altair

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
PNG_SCALE = 2.0
_NOT_KEPT = ("aria-label", "aria-roledescription", "aria-hidden", "role", "class", "pointer-events")


def _convert() -> tuple[Any, str]:
    """(vl_convert, the Vega-Lite version altair writes that vl_convert reads)."""
    module = altair()
    import vl_convert

    wanted = module.SCHEMA_VERSION.lstrip("v").rsplit(".", 1)[0]
    known = vl_convert.get_vegalite_versions()
    return vl_convert, wanted if wanted in known else known[-1]


def svg(figure: Figure) -> str:
    """The figure as a standalone SVG file."""
    convert, version = _convert()
    drawn: str = convert.vegalite_to_svg(figure.spec, vl_version=version)
    return drawn


def png(figure: Figure) -> bytes:
    """The figure as PNG, twice its nominal size."""
    convert, version = _convert()
    drawn: bytes = convert.vegalite_to_png(figure.spec, vl_version=version, scale=PNG_SCALE)
    return drawn


def spec_json(figure: Figure) -> bytes:
    """The Vega-Lite spec, data inside."""
    return orjson.dumps(figure.spec, option=orjson.OPT_INDENT_2) + b"\n"


def bundle() -> str:
    """Vega, Vega-Lite and vega-embed as one script that defines ``vegaEmbed``."""
    convert, version = _convert()
    script: str = convert.javascript_bundle(vl_version=version)
    return script


def script_json(value: Any) -> str:
    """JSON that may stand inside a script element: no text in it can close the element."""
    text = orjson.dumps(value).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def inline(figure: Figure, drawn: str, name: str) -> str:
    """``drawn`` (the figure's svg) for a page: never wider than its box, themed by the page's style.

    Marks are titled and linked. ``name`` prefixes the ids inside, which must be unique in a page.
    """
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    root = ElementTree.fromstring(drawn)
    parents = {child: parent for parent in root.iter() for child in parent}
    for element in list(root.iter()):
        told = element.get("aria-label")
        for attribute in _NOT_KEPT:
            element.attrib.pop(attribute, None)
        if (slug := figure.links.get(told or "")) is not None:
            _link(element, parents[element], str(told), f"models/{slug}.html")
    root.attrib |= {"class": "figure", "focusable": "false"}
    if figure.links:
        root.attrib |= {"role": "group", "aria-label": figure.title}
    else:
        root.attrib |= {"role": "img", "aria-label": f"{figure.title}: {figure.told}"}
    text = ElementTree.tostring(root, encoding="unicode")
    return re.sub(r'(\bid="|url\(#|href="#)(?=[A-Za-z])', rf"\g<1>{name}-", text)


def _link(element: Any, parent: Any, told: str, address: str) -> None:
    place = list(parent).index(element)
    parent.remove(element)
    anchor = ElementTree.Element(f"{{{SVG}}}a", {"href": address, "aria-label": told})
    title = ElementTree.SubElement(anchor, f"{{{SVG}}}title")
    title.text = told
    anchor.append(element)
    parent.insert(place, anchor)
