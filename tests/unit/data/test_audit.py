"""The audit against plain loops, finding by finding, and on the benchmarks that made it needed."""

import json
import random
import time
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperfact.data import load
from hyperfact.data.audit import KINDS, Audit, audit_of, clean, percent, relations
from hyperfact.data.stats import stats_of
from hyperfact.draw.pages.audit_page import page
from hyperfact.errors import DataError
from hyperfact.graph.facts import Fact, Literal
from hyperfact.graph.hkg import HKG, Splits
from tests.support import ROOT
from tests.support.audits import Counts, dataset, naive_counts
from tests.support.benchmarks import data_folder
from tests.support.names import HOSTILE

NAMES = ("a", "A ", "b", "c", Literal("a"), Literal("+5"))
entity, relation = st.sampled_from(NAMES), st.sampled_from(("r", "q", "p"))
pairs = st.lists(st.tuples(relation, entity), max_size=3).map(tuple)
fact_lists = st.lists(st.builds(Fact, entity, relation, entity, pairs), max_size=10)
datasets = st.fixed_dictionaries(
    {"train": fact_lists},
    optional={"valid": fact_lists, "test": fact_lists, "aux": fact_lists},
)


def counts_of(found: Audit) -> Counts:
    return {(f.id, f.where): (f.count, f.of) for f in found.findings}


# -- against plain loops --------------------------------------------------------------------------


@settings(deadline=None, max_examples=100)
@given(datasets)
def test_every_count_is_that_of_plain_loops(parts: dict[str, list[Fact]]) -> None:
    with patch.object(relations, "SUPPORT", 2):
        found = audit_of(dataset(**parts))
    expected = naive_counts(parts, threshold=relations.THRESHOLD, support=2)
    assert counts_of(found) == expected


def test_relations_that_tell_each_other_are_those_of_plain_loops() -> None:
    rng = random.Random(5)
    links = [(f"e{rng.randrange(30)}", f"e{rng.randrange(30)}") for _ in range(150)]
    facts = [Fact(s, "knows", o) for s, o in links]
    facts += [Fact(o, "known by", s) for s, o in links[:140]]
    facts += [Fact(s, "is familiar with", o, (("since", "e1"),)) for s, o in links[5:]]
    facts += [Fact(a, "meets", b) for s, o in links[:40] for a, b in ((s, o), (o, s))]
    facts += [Fact(s, "likes", o) for s, o in links[:9]]
    rng.shuffle(facts)
    parts = {"train": facts[:350], "valid": facts[350:400], "test": facts[400:]}
    found = audit_of(dataset(**parts))
    assert counts_of(found) == naive_counts(parts, threshold=0.8, support=10)
    assert found.get("inverse-relations").count >= 2
    assert found.get("symmetric-relations").count == 1
    assert found.get("duplicate-relations").count == 2
    assert found.get("told-by-another-relation", "test").count > 10


# -- each kind, by hand ---------------------------------------------------------------------------

TRAIN = """
Ann | knows | Bob | since = 1999
Ann | knows | Bob
Bob | knows | Cid | since = 2001 | since = 2002
Cid | knows | Cid
Dan | knows | Ann | witness = Dan
"""
VALID = "Ann | knows | Bob | since = 2001"
TEST = """
Bob | knows | Cid | since = 2001 | since = 2002
Ann | knows | Bob | since = 2002
Eve | knows | Ann
Ann | hates | Bob
Bob | knows | Dan | since = 1999
"""


def example(kind: str, where: str = "") -> tuple[int, int, tuple[str, ...]]:
    finding = audit_of(dataset(train=TRAIN, valid=VALID, test=TEST)).get(kind, where)
    return finding.count, finding.of, finding.examples


def test_facts_in_two_splits() -> None:
    text = "Bob | knows | Cid | since = 2001 | since = 2002"
    assert example("facts-in-two-splits", "train, test") == (1, 5, (text,))
    assert example("facts-in-two-splits", "valid, test") == (0, 1, ())


def test_primary_triples_of_held_out_facts() -> None:
    assert example("primary-in-train", "valid")[:2] == (1, 1)
    assert example("primary-in-train", "test")[:2] == (2, 5)


def test_unseen_names_are_counted_as_facts_and_as_names() -> None:
    assert example("facts-with-unseen-entity", "test") == (1, 5, ("Eve | knows | Ann",))
    assert example("unseen-entities", "test")[::2] == (1, ("Eve",))
    assert example("facts-with-unseen-relation", "test") == (1, 5, ("Ann | hates | Bob",))
    assert example("unseen-relations", "test")[::2] == (1, ("hates",))


def test_a_relation_seen_as_attribute_only_is_unseen() -> None:
    found = audit_of(dataset(train=TRAIN, test="Ann | since | Bob"))
    assert found.get("facts-with-unseen-relation", "test").count == 1


def test_facts_that_are_odd_in_themselves() -> None:
    assert example("bare-twins", "train") == (1, 2, ("Ann | knows | Bob",))
    assert example("self-loops") == (1, 11, ("Cid | knows | Cid",))
    assert example("repeated-attributes")[:2] == (2, 7)
    assert example("value-is-subject-or-object")[::2] == (1, ("Dan | knows | Ann | witness = Dan",))
    assert example("qualifier-only-entities")[::2] == (3, ("1999", "2001", "2002"))


def test_rows_dropped_on_reading_are_named() -> None:
    twice = "a | r | b | q = c\na | r | b\na | r | b | q = c | q = c"
    found = audit_of(dataset(train=twice))
    repeated = found.get("repeated-facts", "train")
    assert (repeated.count, repeated.of, repeated.examples) == (1, 3, ("row 3 of train",))
    assert found.get("repeated-qualifiers", "train").count == 1


def test_lookalikes_differ_by_case_space_or_unicode_form() -> None:
    facts = [
        Fact("caf\u00e9", "r", "cafe\u0301"),
        Fact("New  York", "r", "new york "),
        Fact("Paris", "R", "Parish"),
        Fact("\uff30aris", "R", "Parish"),  # a full-width letter
    ]
    finding = audit_of(dataset(train=facts), examples=9).get("lookalike-names")
    assert finding.count == 8
    assert "new york " in finding.examples[0] + finding.examples[1]
    assert "R ~ r" in finding.examples
    assert not any("Parish" in text for text in finding.examples)


@pytest.mark.parametrize(("shared", "same"), [(20, True), (19, True), (18, False), (0, False)])
def test_valid_is_test_when_nine_tenths_are_shared(shared: int, same: bool) -> None:
    facts = [Fact("a", "r", f"e{i}") for i in range(40)]
    found = audit_of(dataset(train=facts[:1], valid=facts[:20], test=facts[20 - shared :][:20]))
    assert found.valid_is_test is same
    assert ("valid-is-test" in {f.id for f in found.leaks}) is same


def test_pairs_that_everything_joins_say_nothing() -> None:
    facts = [Fact(f"a{i}", r, f"b{i}") for i in range(12) for r in ("r", "q")]
    assert audit_of(dataset(train=facts)).get("duplicate-relations").count == 2
    with patch.object(relations, "CROWD", 1):
        assert audit_of(dataset(train=facts)).get("duplicate-relations").count == 0


@pytest.mark.parametrize(("mirrored", "symmetric"), [(8, 1), (7, 0)])
def test_a_rule_needs_four_fifths_of_ten_pairs(mirrored: int, symmetric: int) -> None:
    both = [("a0", f"b{i}") for i in range(mirrored // 2)]
    pairs = [*both, *((o, s) for s, o in both)]
    pairs += [("c", f"d{i}") for i in range(10 - len(pairs))]
    facts = [Fact(s, "r", o) for s, o in pairs]
    assert audit_of(dataset(train=facts)).get("symmetric-relations").count == symmetric
    assert audit_of(dataset(train=facts[:-1])).get("symmetric-relations").count == 0


def test_a_narrower_relation_is_no_duplicate_but_one_inverse_suffices() -> None:
    wide = [Fact(f"a{i}", "knows", f"b{i}") for i in range(40)]
    narrow = [Fact(f"a{i}", "loves", f"b{i}") for i in range(12)]
    back = [Fact(f"b{i}", "known by", f"a{i}") for i in range(12)]
    found = audit_of(dataset(train=[*wide, *narrow, *back]))
    assert found.get("duplicate-relations").count == 0
    inverse = found.get("inverse-relations")
    assert inverse.count == 2  # 'known by' tells 'knows' and 'loves', 'loves' tells 'known by'
    assert "known by -> knows: 100.0 % of 12 pairs" in inverse.examples


def test_a_dataset_of_one_split_or_none_is_audited_too() -> None:
    alone = audit_of(dataset(train=TRAIN))
    assert {f.where for f in alone.findings} == {"train", ""}
    assert not alone.leaks
    assert audit_of(dataset(train=[])).verdict == "no leaks, no warnings, no notes"
    assert not audit_of(dataset(test=TEST)).leaks


# -- what an audit says of itself -----------------------------------------------------------------


def test_findings_are_plain_json_in_the_order_of_the_catalogue() -> None:
    found = audit_of(dataset(train=TRAIN, valid=VALID, test=TEST), examples=1)
    back = json.loads(json.dumps(found.as_dict()))
    assert back["leak"] == len(found.leaks) == 4
    ids = [row["id"] for row in back["findings"]]
    assert ids == sorted(ids, key=list(KINDS).index)
    assert all(len(row["examples"]) <= 1 for row in back["findings"])
    assert all(row["sentence"] and row["reason"] for row in back["findings"])


def test_every_kind_is_checked() -> None:
    found = audit_of(dataset(train=TRAIN, valid=VALID, test=TEST))
    assert {f.id for f in found.findings} == set(KINDS)


def test_what_was_not_found_names_the_place_only_if_another_has_it() -> None:
    found = audit_of(dataset(train=TRAIN, valid=VALID, test=TEST))
    assert "facts in two splits (train, valid)" in found.clear
    assert "literal values" in found.clear
    with pytest.raises(KeyError):
        found.get("literals", "train")


def test_a_share_never_rounds_to_nothing() -> None:
    assert [percent(x) for x in (0.0, 1e-9, 0.0005, 0.4218, 1.0)] == [
        "0.0 %",
        "< 0.1 %",
        "0.1 %",
        "42.2 %",
        "100.0 %",
    ]


def test_many_facts_are_audited_in_seconds() -> None:
    rng = random.Random(0)
    facts = [
        Fact(f"e{rng.randrange(9999)}", f"r{rng.randrange(50)}", f"e{rng.randrange(9999)}")
        for _ in range(50_000)
    ]
    splits = dataset(train=facts[:40_000], valid=facts[40_000:45_000], test=facts[45_000:])
    start = time.process_time()
    audit_of(splits)
    assert time.process_time() - start < 5


# -- cleaning -------------------------------------------------------------------------------------


def removed(splits: Splits, *, drop_twins: bool = False) -> dict[tuple[str, str], int]:
    return {
        (row.split, row.reason): row.count for row in clean(splits, drop_twins=drop_twins).removed
    }


def test_cleaning_says_what_it_took_from_where_and_why() -> None:
    valid = VALID + "\nBob | knows | Ann"
    splits = dataset(train=TRAIN, valid=valid, test=TEST + "\nBob | knows | Ann | since = 1999")
    assert removed(splits, drop_twins=True) == {
        ("train", "the bare twin of a qualified fact"): 1,
        ("valid", "the primary triple stands in train"): 1,
        ("test", "the fact stands in train or valid"): 1,
        ("test", "the primary triple stands in train or valid"): 2,
        ("test", "an entity is unseen in training"): 1,
        ("test", "a relation or attribute is unseen in training"): 1,
    }
    assert list(clean(splits).splits.test) == [Fact("Bob", "knows", "Dan", (("since", "1999"),))]
    assert clean(splits).splits.train == splits.train


def test_what_valid_loses_cannot_cost_test_a_fact() -> None:
    valid = "Bob | knows | Ann | since = 1821\nBob | knows | Dan"
    splits = dataset(train=TRAIN, valid=valid, test="Bob | knows | Ann")
    assert removed(splits) == {("valid", "an entity is unseen in training"): 1}


@settings(deadline=None, max_examples=100)
@given(datasets, st.booleans())
def test_a_cleaned_dataset_has_no_leak_and_no_unseen_name(
    parts: dict[str, list[Fact]], drop_twins: bool
) -> None:
    splits = dataset(**parts)
    try:
        cleaned = clean(splits, drop_twins=drop_twins)
    except DataError:
        return
    found = audit_of(cleaned.splits)
    unseen = {"facts-with-unseen-entity", "facts-with-unseen-relation"}
    assert not found.leaks
    assert not [f for f in found.findings if f.id in unseen and f.count]
    lost = sum(row.count for row in cleaned.removed)
    assert lost == sum(map(len, parts.values())) - sum(map(len, cleaned.splits.values()))
    if not drop_twins:
        assert cleaned.splits.train == splits.train


def test_a_split_of_which_nothing_is_left_is_refused() -> None:
    with pytest.raises(DataError, match="nothing of test would be left"):
        clean(dataset(train=TRAIN, test="Ann | knows | Bob"))
    with pytest.raises(DataError, match="train"):
        clean(dataset(test=TEST))


# -- the page -------------------------------------------------------------------------------------

PAYLOADS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "</title></style><b>",
    "\u202eevil",
    "a\x00b\x1b[31m",
    "&lt;b&gt;",
    "y" * 10_000,
    *HOSTILE,
)


def hostile_page() -> str:
    facts = [Fact(name, "r", name, (("<a>", name), ("<a>", "<b>"))) for name in PAYLOADS]
    graph = HKG.from_facts(facts)
    splits = Splits({"train": graph, "<i>": graph}, "<script>\u202e\x1bname</script>")
    return page(audit_of(splits, examples=999), stats_of(splits))


def test_names_cannot_become_markup() -> None:
    html = hostile_page()
    for tag in ("<script", "<img", "<svg onload", "</title></style>", "<b>", "<i>", "<a>"):
        assert tag not in html.replace("</title>\n<style>", "")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "&amp;lt;b&amp;gt;" in html
    assert not {"\u202e", "\x00", "\x1b"} & set(html)
    assert max(map(len, html.splitlines())) < 300_000


def test_the_page_needs_no_script_and_no_network() -> None:
    splits = load("baseball")
    html = page(audit_of(splits), stats_of(splits))
    assert "<script" not in html
    assert "http" not in html.replace("http-equiv", "")
    assert "url(" not in html
    assert "default-src 'none'" in html
    assert "prefers-color-scheme: dark" in html
    assert html.count("<svg") > 10


# -- real data ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["baseball", "world"])
def test_bundled_datasets_give_nothing_to_complain_about(name: str) -> None:
    found = audit_of(load(name))
    assert not found.leaks
    assert not found.warnings


@pytest.mark.bench_data
def test_primary_triples_of_jf17k() -> None:
    found = audit_of(load("JF17K", data_dir=data_folder()))
    train, both = (
        found.get(kind, "test") for kind in ("primary-in-train", "primary-in-train-or-valid")
    )
    assert (train.count, train.of, percent(train.share)) == (10_363, 24_568, "42.2 %")
    assert percent(both.share) == "44.6 %"
    assert found.get("self-loops").count == 171
    assert found.get("value-is-subject-or-object").count == 294


@pytest.mark.bench_data
def test_primary_triples_and_unseen_entities_of_fb_auto() -> None:
    found = audit_of(load("FB-AUTO", data_dir=data_folder()))
    train = found.get("primary-in-train", "test")
    assert (train.count, train.of, percent(train.share)) == (1_360, 2_180, "62.4 %")
    assert found.get("facts-with-unseen-entity", "test").count == 258


@pytest.mark.bench_data
def test_overlaps_twins_and_unseen_entities_of_wd50k() -> None:
    splits = load("WD50K", data_dir=data_folder())
    start = time.process_time()
    found = audit_of(splits)
    assert time.process_time() - start < 6  # 1.2 s on an idle machine
    assert found.get("primary-in-train", "test").count == 0
    assert found.get("facts-in-two-splits", "train, valid").count == 272
    assert found.get("bare-twins", "train").count == 170
    assert found.get("facts-with-unseen-entity", "test").count == 948
    assert found.get("repeated-attributes").count == 2_964
    assert found.get("self-loops").count == 237


@pytest.mark.bench_data
@pytest.mark.parametrize("name", ["JF17K", "FB-AUTO", "WD50K"])
def test_cleaned_benchmarks_have_no_leak(name: str) -> None:
    splits = load(name, data_dir=data_folder())
    cleaned = clean(splits)
    assert not audit_of(cleaned.splits, examples=0).leaks
    assert len(cleaned.splits.train) == len(splits.train)


def test_the_guide_explains_every_kind() -> None:
    guide = (ROOT / "docs" / "howto" / "audit.md").read_text(encoding="utf-8")
    assert [kind for kind in KINDS if f"**`{kind}`**" not in guide] == []
