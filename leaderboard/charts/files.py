"""A figure to one file: svg and html with the same bytes on a rerun, png; the html holds all it needs."""

from __future__ import annotations

from html import escape
from pathlib import Path

from arena.errors import UsageError
from arena.leaderboard.plots import Figure
from arena.leaderboard.render import bundle, png, script_json, svg

KINDS = (".svg", ".png", ".html")

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; base-uri 'none'; form-action 'none'; \
style-src 'unsafe-inline'; img-src data: blob:; script-src 'unsafe-inline' 'unsafe-eval'">
<title>{title}</title>
<style>
body {{ margin: 0 auto; max-width: 900px; padding: 24px 16px; font: 15px/1.5 system-ui, sans-serif; \
color: #1c2430; background: #fff; }}
h1 {{ font-size: 21px; }} .scroll {{ overflow-x: auto; }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<div class="scroll" role="region" aria-label="{title}" tabindex="0"><div id="plot"></div></div>
{note}<ul>
{told}
</ul>
</main>
<script>{bundle}</script>
<script>vegaEmbed("#plot", {spec}, {{"actions": false}});</script>
</body>
</html>
"""


def write(figure: Figure, path: Path) -> None:
    """Write a figure by the ending of ``path``.

    Raises:
        UsageError: another ending.
        MissingNeed: the plotting packages are not installed.
    """
    if path.suffix not in KINDS:
        raise UsageError(f"{path}: a plot is written as {', '.join(KINDS)}", hint="choose -o FILE.svg")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".png":
        path.write_bytes(png(figure))
    else:
        path.write_text(svg(figure) if path.suffix == ".svg" else page(figure), "utf-8")


def page(figure: Figure) -> str:
    """The figure as one page that loads nothing; its words stand below it."""
    lines = "\n".join(f"<li>{escape(line)}</li>" for line in figure.told.split("; "))
    return PAGE.format(
        title=escape(figure.title),
        note=f"<p>{escape(figure.note)}</p>\n" if figure.note else "",
        told=lines,
        bundle=bundle().replace("</script", "<\\/script"),
        spec=script_json(figure.spec),
    )
