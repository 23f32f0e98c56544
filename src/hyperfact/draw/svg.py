"""The marks of a picture, and the picture itself: SVG that needs nothing from outside."""

from dataclasses import dataclass, field
from html import escape

from hyperfact.draw.text import fit, is_rtl, tooltip, visible, width

BOX_HEIGHT, BOX_PAD = 26, 10
#: Line colours that stay apart on both backgrounds, also for most colour-blind people.
HUES = ("#4477aa", "#cc6677", "#228833", "#b8860b", "#aa4499", "#0f8f9c", "#8c6d5a", "#7a7a7a")

_HUED = "".join(
    f".hf .line.hue{i}{{stroke:{hue}}}.hf .tip.hue{i}{{fill:{hue}}}" for i, hue in enumerate(HUES)
)

#: The rules of every picture; a page that forbids styles in its markup serves them as a file.
STYLE = (
    """
.hf{--bg:#fff;--ink:#1b1f24;--dim:#57606a;--line:#6e7781;--box:#f6f8fa;--edge:#d0d7de;
--lit:#fff4ce;--litedge:#bf8700;--area:#eef4fb;--areaedge:#a9c3e0;--hub:#57606a;--ok:#1a7f37;
--bad:#b35900;font-family:system-ui,"Segoe UI","Noto Sans",Arial,sans-serif;font-size:13px}
@media(prefers-color-scheme:dark){.hf{--bg:#0d1117;--ink:#e6edf3;--dim:#9da7b3;--line:#8b949e;
--box:#21262d;--edge:#484f58;--lit:#4a3a0c;--litedge:#d4a72c;--area:#121d2f;--areaedge:#2f4a6d;
--hub:#9da7b3;--ok:#56d364;--bad:#f0883e}}
.hf text{fill:var(--ink)}.hf .dim{fill:var(--dim);font-size:12px}
.hf .label{font-size:12px}.hf .under{fill:var(--bg)}.hf .area .under{fill:var(--area)}
.hf .head{font-weight:600}
.hf .ok{fill:var(--ok)}.hf .bad{fill:var(--bad)}.hf .back{fill:var(--bg)}
.hf .box{fill:var(--box);stroke:var(--edge)}.hf .box.lit{fill:var(--lit);stroke:var(--litedge)}
.hf .shape{fill:var(--area);stroke:var(--areaedge)}.hf .hub{fill:var(--hub)}
.hf .line{stroke:var(--line);fill:none;stroke-width:1.3}.hf .line.main{stroke-width:2.2}
.hf .faint{opacity:.55}.hf .tip{fill:var(--line)}
""".replace("\n", "")
    + _HUED
)


class Picture(str):
    """An SVG document; a notebook shows it."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return str(self)

    def __html__(self) -> str:
        """A template takes it as it is: every name in it is escaped."""
        return str(self)


@dataclass
class Group:
    """Marks in a coordinate system of their own, and the room that they take."""

    width: float = 0.0
    height: float = 0.0
    marks: list[str] = field(default_factory=list)

    def grow(self, right: float, bottom: float) -> None:
        """Make room down to this corner."""
        self.width, self.height = max(self.width, right), max(self.height, bottom)

    def add(self, mark: str) -> None:
        """Put a mark on top."""
        self.marks.append(mark)

    def place(self, other: "Group", x: float, y: float, css: str = "") -> None:
        """Put a group on top, its corner at this point."""
        kind = f' class="{css}"' if css else ""
        inner = "".join(other.marks)
        self.add(f'<g{kind} transform="translate({x:.1f} {y:.1f})">{inner}</g>')
        self.grow(x + other.width, y + other.height)

    def text(self, x: float, y: float, name: str, *, css: str = "", anchor: str = "middle") -> None:
        """Text on a middle line; a name that runs from right to left keeps its place."""
        kind = f' class="{css}"' if css else ""
        turn = ""
        if is_rtl(name):
            anchor = {"start": "end", "end": "start"}.get(anchor, anchor)
            turn = ' direction="rtl"'
        self.add(
            f'<text x="{x:.1f}" y="{y + 4.5:.1f}" text-anchor="{anchor}"{kind}{turn}>'
            f"{escape(name)}</text>"
        )

    def line(
        self, start: "Point", end: "Point", *, css: str = "", hue: str = "", arrow: bool = True
    ) -> None:
        """A straight line, with a tip at its end."""
        self.add(
            f'<path class="line {css}{_hued(hue)}" d="M{start[0]:.1f} {start[1]:.1f}'
            f'L{end[0]:.1f} {end[1]:.1f}"/>'
        )
        if arrow:
            self.add(_tip(start, end, hue=hue, css=css))

    def box(self, x: float, y: float, name: str, *, limit: float = 190, lit: bool = False) -> float:
        """A rounded box around a name; the whole name shows as a tooltip. Returns its width."""
        text = fit(name, limit - 2 * BOX_PAD)
        wide = box_width(name, limit)
        css = "box lit" if lit else "box"
        self.add(
            f'<g><title>{escape(tooltip(name))}</title><rect class="{css}" x="{x:.1f}" y="{y:.1f}" '
            f'width="{wide:.1f}" height="{BOX_HEIGHT}" rx="6"/>'
        )
        self.text(x + wide / 2, y + BOX_HEIGHT / 2, text)
        self.add("</g>")
        self.grow(x + wide, y + BOX_HEIGHT)
        return wide

    def label(
        self, x: float, y: float, name: str, *, limit: float, anchor: str = "middle", up: str = ""
    ) -> None:
        """The name of an edge; `up` is a superscript such as sub or obj."""
        text = fit(name, limit - width(up, 9), 12)
        wide = 0.94 * width(text, 12) + width(up, 9)
        left = x - wide * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
        self.add(
            f'<g><title>{escape(tooltip(name))}</title><rect class="under" x="{left - 2:.1f}" '
            f'y="{y - 8:.1f}" width="{wide + 4:.1f}" height="16" rx="4"/>'
        )
        if not up:
            self.text(x, y, text, css="label", anchor=anchor)
        else:
            turn = ' direction="rtl"' if is_rtl(text) else ""
            self.add(
                f'<text class="label" x="{x:.1f}" y="{y + 4.5:.1f}" text-anchor="{anchor}"{turn}>'
                f'{escape(text)}<tspan dy="-5" font-size="9">{up}</tspan></text>'
            )
        self.add("</g>")


Point = tuple[float, float]


def box_width(name: str, limit: float = 190) -> float:
    """The width that a box around this name has."""
    return max(34.0, min(limit, width(fit(name, limit - 2 * BOX_PAD)) + 2 * BOX_PAD))


def _tip(start: Point, end: Point, *, hue: str, css: str) -> str:
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = (dx * dx + dy * dy) ** 0.5 or 1.0
    ux, uy = dx / length, dy / length
    size, half = 8.0, 3.6
    bx, by = end[0] - size * ux, end[1] - size * uy
    points = f"{end[0]:.1f},{end[1]:.1f} {bx - half * uy:.1f},{by + half * ux:.1f} "
    points += f"{bx + half * uy:.1f},{by - half * ux:.1f}"
    faint = " faint" if "faint" in css else ""
    return f'<polygon class="tip{faint}{_hued(hue)}" points="{points}"/>'


def _hued(hue: str) -> str:
    """A class instead of a colour: strict pages allow no style in an element."""
    return f" hue{HUES.index(hue)}" if hue else ""


def picture(group: Group, title: str, margin: float = 16, *, styled: bool = True) -> Picture:
    """The document of a group; without its style it is part of a page that has `STYLE`."""
    style = f"<style>{STYLE}</style>" if styled else ""
    wide, high = group.width + 2 * margin, group.height + 2 * margin
    inner = "".join(group.marks)
    return Picture(
        f'<svg xmlns="http://www.w3.org/2000/svg" class="hf" role="img" width="{wide:.0f}" '
        f'height="{high:.0f}" viewBox="0 0 {wide:.0f} {high:.0f}"><title>{escape(visible(title))}'
        f'</title>{style}<rect class="back" width="100%" height="100%" rx="8"/>'
        f'<g transform="translate({margin} {margin})">{inner}</g></svg>'
    )
