"""The data model: facts and their syntax, vocabularies, HKG, KG, queries, batches.

Order: name_search, ragged, syntax, facts, literal_forms, literal_texts, quantities, prefixes,
label_texts, labels, columns, reserved, fingerprints, rdf_terms, frames, hkg, joining,
mediator_hashes, batches, kg, queries, partial, facts_in_parts, role_index, number_roles, contexts,
related, chains, profiles, tallies, language.
"""
