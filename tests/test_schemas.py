"""The JSON schemas by which an editor completes claims.yaml and settings.yaml."""

import datetime
import json
from dataclasses import MISSING, fields

import yaml
from jsonschema import Draft202012Validator

from claimbook import project, tables
from claimbook.claims import verdict

BOOK = project.home() / "book"
FILLED_IN = {"id", "ours", "interval", "held", "n", "scale", "shorter"}  # by a page
FILLED_IN |= {"tried", "why", "runs", "values", "smallest", "largest"}


def schema(kind):
    return json.loads((BOOK / f"{kind}.schema.json").read_text(encoding="utf-8"))


def faults(kind, content):
    """What an editor would underline in a YAML file, where dates are text."""
    validator = Draft202012Validator(schema(kind))
    as_json = json.loads(json.dumps(content, default=str))
    return [error.message for error in validator.iter_errors(as_json)]


def test_every_file_names_its_schema_and_keeps_to_it():
    for path in [*BOOK.glob("*/claims.yaml"), *BOOK.glob("*/settings.yaml")]:
        text = path.read_text(encoding="utf-8")
        line = f"# yaml-language-server: $schema=../{path.stem}.schema.json"
        assert text.startswith(line + "\n"), path
        assert faults(path.stem, yaml.load(text, yaml.CSafeLoader)) == [], path


def test_the_schemas_know_the_keys_that_the_code_reads():
    row = schema("claims")["$defs"]["row"]
    keys = verdict.YAML_KEYS
    known = {keys.get(one.name, one.name): one for one in fields(verdict.Claim)}
    assert row["properties"].keys() == known.keys() - FILLED_IN
    needed = {
        name
        for name in row["properties"]
        if known[name].default is MISSING and known[name].default_factory is MISSING
    }
    assert {*row["required"]} == needed
    page = schema("settings")["additionalProperties"]
    assert page["properties"].keys() == {*tables.experiment.STATED}


def test_a_misspelt_key_a_missing_one_and_a_bound_in_words_are_faults():
    row = {"tested": "it grows", "registered": datetime.date(2026, 11, 28)}
    assert faults("claims", {"fig1": {"grows": row}}) == []
    for wrong in ({"at_lest": 1}, {"at_least": "one"}, {"question": "question 7"}):
        assert len(faults("claims", {"fig1": {"grows": row | wrong}})) == 1
    assert len(faults("claims", {"fig1": {"grows": {"tested": "it grows"}}})) == 1
    assert len(faults("settings", {"fig1": {"papper": {}}})) == 1
