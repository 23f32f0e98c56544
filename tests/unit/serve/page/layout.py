"""What lies where it should not on an open page, whatever the font and the width of the window."""

from pathlib import Path

from playwright.sync_api import Page

#: Text much wider and much narrower than that of the page, whichever fonts the machine has.
FONTS = {
    "wide": 'font-family: "DejaVu Sans Mono", monospace; letter-spacing: .12em',
    "narrow": "font-stretch: condensed; letter-spacing: -.08em",
}
SIZES = ((320, 640), (360, 740), (1440, 900))

#: A sheet made by script is no style in the markup, so the policy of the pages allows it.
SET_FONT = """(font) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`* { ${font.replace(/;|$/g, " !important;")} }`);
  document.adoptedStyleSheets = [sheet];
  for (const part of document.querySelectorAll("details")) part.open = true;
}"""
_MISPLACED = Path(__file__).with_name("layout.js").read_text()


def misplaced(page: Page) -> list[str]:
    """What is wrong with the open page, by font and width; every part of it is unfolded."""
    found = []
    for name, font in FONTS.items():
        page.evaluate(SET_FONT, font)
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            found += [f"{name} {width}: {line}" for line in page.evaluate(_MISPLACED)]
    return found
