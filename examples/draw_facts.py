"""Draw a fact, an entity with its facts, and a fact under every transformation, as SVG files."""

from pathlib import Path

from hyperfact import draw_fact, draw_neighbourhood, draw_transformations, load

facts = load("baseball").all
fact = facts.of_entity("Hank Aaron").of_relation("won award")[0]
pictures = {
    "fact.svg": draw_fact(fact),
    "hank-aaron.svg": draw_neighbourhood(facts, "Hank Aaron", limit=5),
    "transformations.svg": draw_transformations(fact),
}
for name, picture in pictures.items():
    Path(name).write_text(picture, encoding="utf-8")
    print(f"{name}: {len(picture):,} characters, opens in any browser")
