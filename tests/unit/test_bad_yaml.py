"""Whatever is in the YAML file or an option: a refusal has a message of bounded length and the exit
code 2, and comes before Spark starts."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from figs_spark.app.cli import main
from figs_spark.app.errors import WRONG_USAGE, JobError
from figs_spark.app.options import read_settings
from figs_spark.app.train import Train, check

CONF = sorted((Path(__file__).parents[2] / "conf").glob("*.yaml"))
DIGITS = "9" * 5_000
LAUGHS = "".join(
    f"  {b}: &{b} [{', '.join(9 * [f'*{a}'])}]\n" for a, b in zip("abcdefgh", "bcdefghi")
)
SHELL = "!!python/object/apply:os.system [touch, pwned]"

BAD: dict[str, str | bytes] = {
    "binary": b"\x00\x01\xff\xfe",
    "UTF-16": "rows: 3".encode("utf-16"),
    "a NUL": "rows: 3\0",
    "a tab": "split:\n\tseed: 3",
    "a list that holds itself": "model: &a [*a]",
    "a map that holds itself": "model: &a {x: *a}",
    "features that hold themselves": "features: &a [*a]",
    "an alias of nothing": "model: *b",
    "many aliases": f"model:\n  a: &a [x, x, x, x, x, x, x, x]\n{LAUGHS}rows: *i\n",
    "many aliases in a map": f"model:\n  a: &a [x, x, x, x, x, x, x, x]\n{LAUGHS}",
    "a date": "rows: 2020-01-01",
    "a date that is none": "rows: 2020-99-99",
    "a date as a section": "split: 2020-99-99",
    "a date in a map": "model: {maxSplits: 2020-01-01}",
    "a long number": f"rows: {DIGITS}",
    "a long number as a section": f"split: {DIGITS}",
    "a number beyond 64 bits": "rows: 9223372036854775808",
    "a number beyond the floats": f"operatingPoint: {{sensitivity: {DIGITS[:400]}}}",
    "a long hexadecimal number": f"rows: 0x{DIGITS}",
    "a key twice": "rows: 3\nrows: 4",
    "a key twice in a map": "model: {maxSplits: 3, maxSplits: 4}",
    "a number as a key": "3: 4",
    "null as a key": "~: 4",
    "a list as a key": "[a, b]: 4",
    "a map as a key": "? {a: b}\n: 4",
    "a list as a key of a map": "model: {[a]: 4}",
    "a map as a key of a map": "model:\n  ? {a: b}\n  : 4",
    "Python": f"rows: {SHELL}",
    "Python as a section": f"split: {SHELL}",
    "Python in a map": f"model: {{maxSplits: {SHELL}}}",
    "nothing but Python": SHELL,
    "an unknown tag": "model: !mine {maxSplits: 3}",
    "an unknown tag of all": "!mine {rows: 3}",
    "an unknown tag of a section": "split: !mine {seed: 3}",
    "bytes": "features: [!!binary aGk=]",
    "bytes that are none": "input: !!binary '*'",
    "a set": "model: {x: !!set {a, b}}",
    "an integer that is none": "rows: !!int x",
    "a boolean that is none": "model: {x: !!bool x}",
    "a time that is none": "rows: !!timestamp x",
    "open brackets": "model: " + "[" * 5_000,
    "many brackets": "model: " + "[" * 3_000 + "]" * 3_000,
    "many maps": "model: " + "{a: " * 900 + "3" + "}" * 900,
    "a merge of nothing": "model: {<<: 3}",
    "a merge of a list": "model: {<<: [3]}",
    "a merge at the top": "<<: {rows: 3}",
    "two documents": "rows: 1\n---\nrows: 2",
    "not a number": "rows: .nan",
    "infinity": "operatingPoint: {sensitivity: .inf}",
    "a version that is none": "%YAML 9.9\n---\nrows: 3",
    "an unknown escape": 'input: "\\x"',
    "a colon too many": "a: b: c",
    "a list as a section": "split: [1, 2]",
}


@pytest.mark.parametrize("name", BAD)
def test_bad_yaml_is_refused_with_code_2(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "train.yaml"
    raw = BAD[name]
    path.write_bytes(raw if isinstance(raw, bytes) else raw.encode())
    assert main(["train", "--config", str(path)]) == WRONG_USAGE
    message = capsys.readouterr().err
    assert "train.yaml" in message
    assert "Traceback" not in message
    assert len(message) < 1_000
    assert not Path("pwned").exists()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--rows", "["),
        ("--rows", DIGITS),
        ("--rows", "2020-99-99"),
        ("--model.maxSplits", "["),
        ("--model.maxSplits", "!!python/object:x y"),
        ("--model.maxSplits", "&a [*a]"),
        ("--model.maxSplits", DIGITS),
        ("--model.maxSplits", "2020-01-01"),
        ("--model.maxSplits", "{a: 1, a: 2}"),
        ("--operatingPoint.sensitivity", DIGITS[:400]),
    ],
)
def test_bad_options_are_refused_with_code_2(
    option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["train", option, value])
    assert ended.value.code == WRONG_USAGE
    assert f"{option}: " in capsys.readouterr().err


def test_a_path_that_no_system_has() -> None:
    with pytest.raises(JobError, match="cannot be read") as refused:
        read_settings(Train, "train", ["--config", "a\0b"])
    assert refused.value.exit_code == WRONG_USAGE


def test_a_thousand_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    """No other error than a JobError of code 2 comes out."""
    path, random, codes = tmp_path / "train.yaml", Random(3), list[int]()
    letters = "\t \n:-[]{}&*!|>'\"%@`,?#~0123456789abcxyz=<.\\\0é\u202e"
    for _ in range(1_000):
        text = random.choice(CONF).read_text("utf-8")
        for _ in range(random.choice((1, 1, 3, 9))):
            at = random.randrange(len(text))
            cut = random.choice((0, 0, 1, 1, 5))
            text = (
                text[:at]
                + "".join(random.choices(letters, k=random.randrange(4)))
                + text[at + cut :]
            )
        path.write_text(text, "utf-8")
        try:
            check(read_settings(Train, "train", ["--config", str(path)]))
        except JobError as error:
            codes.append(error.exit_code)
    assert len(codes) > 300
    assert set(codes) == {WRONG_USAGE}
