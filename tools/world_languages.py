"""The facts of `world` about languages, their scripts and their grammar."""

from collections.abc import Iterator

from tools.bundle import Fact, qualifiers
from tools.world_names import Cldr

BANDS = (
    (80, "80 % or more"),
    (50, "50 to 80 %"),
    (20, "20 to 50 %"),
    (5, "5 to 20 %"),
    (1, "1 to 5 %"),
    (0, "under 1 %"),
)
STATUS = {
    "official": "official",
    "de_facto_official": "de facto official",
    "official_regional": "regionally official",
}
USAGE = {
    "EXCLUSION": "historic or rare",
    "LIMITED_USE": "limited use",
    "RECOMMENDED": "common use",
    "ASPIRATIONAL": "limited use",
}
CASES = {"locativecopulative": "locative-copulative"}
DISTANCES = ((5, "very small"), (10, "small"), (20, "medium"), (100, "large"))


def languages(cldr: Cldr) -> Iterator[Fact]:
    """Languages of each territory: share of speakers, status, script."""
    likely = cldr.supplemental("likelySubtags")["likelySubtags"]
    territories = cldr.supplemental("territoryInfo")["territoryInfo"]
    for code in cldr.countries():
        spoken = territories.get(code, {}).get("languagePopulation", {})
        for tag, use in spoken.items():
            language, _, script = tag.partition("_")
            name, place = cldr.language(language), cldr.territory(code)
            if not name or not place:
                continue
            tags = likely.get(f"{language}-{code}") or likely.get(language) or ""
            script = script or ([*tags.split("-"), ""])[1]
            percent = float(use["_populationPercent"])
            share = next(label for least, label in BANDS if percent >= least)
            extra = qualifiers(
                ("share", cldr.kinds("share", share)),
                ("status", _status(cldr, STATUS.get(use.get("_officialStatus", "")))),
                ("script", cldr.script(script)),
            )
            yield Fact(place, "speaks", name, extra)


def _status(cldr: Cldr, status: str | None) -> str | None:
    return cldr.kinds("status", status) if status else None


def scripts_of_languages(cldr: Cldr) -> Iterator[Fact]:
    """The scripts a language is written in."""
    for key, use in cldr.supplemental("languageData")["languageData"].items():
        code, _, secondary = key.partition("-alt-")
        language = cldr.language(code)
        for script in filter(None, map(cldr.script, use.get("_scripts", []))):
            if language:
                status = cldr.kinds("importance", secondary or "primary")
                yield Fact(language, "written in", script, qualifiers(("use", status)))


def scripts(cldr: Cldr) -> Iterator[Fact]:
    """Where scripts come from, their direction and use."""
    for code, script in cldr.read("cldr-core/scriptMetadata.json")["scriptMetadata"].items():
        name, place = cldr.script(code), cldr.territory(script.get("originCountry", ""))
        if name and place:
            direction = "right to left" if script["rtl"] == "YES" else "left to right"
            extra = qualifiers(
                ("direction", cldr.kinds("direction", direction)),
                ("use", _use(cldr, USAGE.get(script["idUsage"]))),
            )
            yield Fact(name, "originated in", place, extra)


def _use(cldr: Cldr, use: str | None) -> str | None:
    return cldr.kinds("importance", use) if use else None


def numerals(cldr: Cldr) -> Iterator[Fact]:
    """The digits of each language: the usual ones, and the native ones where they differ."""
    for folder in sorted((cldr.root / "cldr-numbers-full" / "main").iterdir()):
        language = cldr.language(folder.name)
        if not language or "-" in folder.name:
            continue
        path = f"cldr-numbers-full/main/{folder.name}/numbers.json"
        systems = cldr.read(path)["main"][folder.name]["numbers"]
        usual = systems["defaultNumberingSystem"]
        others = systems["otherNumberingSystems"]
        named = {usual: "usual", **{others[k]: k for k in others if others[k] != usual}}
        for code, use in named.items():
            if digits := cldr.digits(code):
                extra = qualifiers(("use", cldr.kinds("importance", use)))
                yield Fact(language, "numerals", digits, extra)


def plurals(cldr: Cldr) -> Iterator[Fact]:
    """The forms a language sets apart when counting and when ranking, beside the general one."""
    for kind, file in (("cardinal", "plurals"), ("ordinal", "ordinals")):
        numbers = cldr.kinds("numbers", f"{kind} numbers")
        for code, rules in cldr.supplemental(file)[f"plurals-type-{kind}"].items():
            language = cldr.language(code)
            forms = {rule.removeprefix("pluralRule-count-") for rule in rules} - {"other"}
            for form in sorted(forms):
                if language and "-" not in code:
                    name = cldr.kinds("form", f"plural category {form}")
                    yield Fact(language, "plural form", name, qualifiers(("with", numbers)))


def grammar(cldr: Cldr) -> Iterator[Fact]:
    """Cases, genders and definiteness of nouns."""
    words = {"Case": "case", "Gender": "gender", "Definiteness": "form"}
    for key, features in cldr.supplemental("grammaticalFeatures")["grammaticalData"].items():
        language = cldr.language(key.removesuffix("-targets-nominal"))
        for feature, word in words.items():
            for value in features.get(f"grammatical{feature}", []):
                if language and value != "unspecified":
                    name = cldr.kinds("feature", f"{CASES.get(value, value)} {word}")
                    yield Fact(language, "marks nouns for", name)


def matches(cldr: Cldr) -> Iterator[Fact]:
    """The languages that readers of a language can be offered instead."""
    table = cldr.supplemental("languageMatching")["languageMatching"]["written-new"]
    for match in table["languageMatch"]:
        wanted, offered = cldr.language(match["_desired"]), cldr.language(match["_supported"])
        if wanted and offered and "-" not in match["_desired"]:
            distance = next(label for most, label in DISTANCES if match["_distance"] <= most)
            ways = "one way" if match.get("_oneway") else "both ways"
            extra = qualifiers(
                ("distance", cldr.kinds("distance", distance)),
                ("applies", cldr.kinds("ways", ways)),
            )
            yield Fact(wanted, "readers also read", offered, extra)


RELATIONS = (languages, scripts_of_languages, scripts, numerals, plurals, grammar, matches)
