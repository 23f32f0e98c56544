"""English names for the codes of Unicode CLDR, from the unpacked npm packages.

A code without an English name, or one that stands for no real thing (a test currency, an
unknown region), has no label, and no fact mentions it.
"""

import json
import re
from functools import cached_property
from pathlib import Path
from typing import Any

from tools.bundle import Kinds

NOISE_TERRITORIES = {"XA", "XB", "ZZ"}  # two pseudo-locales and "unknown"
NOISE_LANGUAGES = {"mul", "root", "und", "zxx"}
NOISE_CURRENCIES = {"XTS", "XXX"}
NOISE_SCRIPTS = {"Qaag", "Zinh", "Zmth", "Zsye", "Zsym", "Zxxx", "Zyyy", "Zzzz"}
GROUPS = {"EU", "EZ", "UN"}  # two-letter codes that are not territories
SCRIPT_NOUNS = re.compile(
    r"(hieroglyphs|script|shorthand|SignWriting|syllabaries|Syllabics|Blissymbols)$", re.IGNORECASE
)
DAYS = {
    "mon": "Monday",
    "tue": "Tuesday",
    "wed": "Wednesday",
    "thu": "Thursday",
    "fri": "Friday",
    "sat": "Saturday",
    "sun": "Sunday",
}


class Cldr:
    """Reads the packages `cldr-*` below one folder and labels their codes.

    Every method that names something returns None for noise and for codes without a name.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.kinds = Kinds()
        for code in self._territories:  # first of all, so that countries keep their plain names
            self.territory(code)

    def read(self, path: str) -> Any:
        """A JSON file of the packages."""
        return json.loads((self.root / path).read_text("utf-8"))

    def supplemental(self, name: str) -> Any:
        """A table of cldr-core."""
        return self.read(f"cldr-core/supplemental/{name}.json")["supplemental"]

    def english(self, package: str, name: str) -> Any:
        """A file of the English locale."""
        return self.read(f"{package}/main/en/{name}.json")["main"]["en"]

    @cached_property
    def _territories(self) -> dict[str, str]:
        names = self._display("territories", "territories")
        return {code: name for code, name in names.items() if code not in NOISE_TERRITORIES}

    @cached_property
    def _languages(self) -> dict[str, str]:
        return self._display("languages", "languages")

    @cached_property
    def _scripts(self) -> dict[str, str]:
        return self._display("scripts", "scripts")

    @cached_property
    def _currencies(self) -> dict[str, Any]:
        names: dict[str, Any] = self.english("cldr-numbers-full", "currencies")
        currencies: dict[str, Any] = names["numbers"]["currencies"]
        return currencies

    @cached_property
    def _zones(self) -> dict[str, Any]:
        zones: dict[str, Any] = self.english("cldr-dates-full", "timeZoneNames")["dates"]
        names: dict[str, Any] = zones["timeZoneNames"]
        return names

    @cached_property
    def _types(self) -> dict[str, dict[str, str]]:
        names: dict[str, Any] = self.english("cldr-localenames-full", "localeDisplayNames")
        types: dict[str, dict[str, str]] = names["localeDisplayNames"]["types"]
        return types

    def _display(self, file: str, key: str) -> dict[str, str]:
        names = self.english("cldr-localenames-full", file)
        display: dict[str, str] = names["localeDisplayNames"][key]
        return display

    def countries(self) -> list[str]:
        """The codes of single territories, in order."""
        return sorted(
            c for c in self._territories if re.fullmatch("[A-Z]{2}", c) and c not in GROUPS
        )

    def territory(self, code: str) -> str | None:
        """A territory, region or group of territories."""
        name = self._territories.get(f"{code}-alt-short") if code in ("HK", "MO", "PS") else None
        name = name or self._territories.get(code)
        return self.kinds("territory", name[0].upper() + name[1:]) if name else None

    def language(self, code: str) -> str | None:
        """A language."""
        name = self._languages.get(code)
        return self.kinds.apart("language", name) if name and code not in NOISE_LANGUAGES else None

    def script(self, code: str | None) -> str | None:
        """A script; the word is part of the label, as many scripts are named like languages."""
        name = self._scripts.get(f"{code}-alt-stand-alone") or self._scripts.get(f"{code}")
        if not name or code in NOISE_SCRIPTS:
            return None
        return self.kinds("script", name if SCRIPT_NOUNS.search(name) else f"{name} script")

    def currency(self, code: str) -> str | None:
        """A currency."""
        name = self._currencies.get(code, {}).get("displayName")
        return self.kinds("currency", name) if name and code not in NOISE_CURRENCIES else None

    def calendar(self, code: str) -> str | None:
        """A calendar."""
        name = self._types["calendar"].get(code)
        return self.kinds("calendar", name) if name else None

    def digits(self, code: str) -> str | None:
        """A numbering system."""
        name = self._types["numbers"].get(code)
        return self.kinds("numerals", re.sub(" digits$", " Digits", name)) if name else None

    def metazone(self, code: str) -> str | None:
        """What the clocks of a region show, such as Central European Time."""
        names = self._zones["metazone"].get(code, {}).get("long", {})
        name = names.get("generic") or names.get("standard")
        return self.kinds("time", name) if name else None

    def zone(self, path: str) -> str | None:
        """The place a zone of the tz database is named for; None if that is a whole territory."""
        entry: Any = self._zones["zone"]
        for part in path.split("/"):
            entry = entry.get(part, {})
        name = entry.get("exemplarCity") or path.split("/")[-1].replace("_", " ")
        whole = self.kinds.kind_of.get(name) == "territory"
        return None if whole else self.kinds.apart("zone", name)

    def year(self, date: str | None) -> str | None:
        """The year of a date such as 1999-01-01."""
        return self.kinds("year", date[:4]) if date else None

    def day(self, code: str) -> str:
        """A day of the week."""
        return self.kinds("day", DAYS[code])
