"""Secrets of every kind are found, named and not shown; ordinary logs hold none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.leaderboard.submission.secrets import Scanner

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
LONG = st.text(LETTERS, min_size=40, max_size=60)

FORMS = [
    '{{"Authorization": "Bearer {0}"}}',
    "sk-{0}",
    '"key": "sk-proj-{0}"',
    "fast_sk_{0}",
    "token ghp_{0}",
    "hf_{0}",
    "X-API-Key: {0}",
    '\\"api_key\\": \\"{0}\\"',
    "api_key={0}",
    "-----BEGIN RSA PRIVATE KEY-----{0}",
]


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=20, deadline=None)
@given(secret=LONG)
def test_known_forms_are_found_anywhere_in_a_line(form: str, secret: str) -> None:
    line = f'{{"body": "before {form.format(secret)} after"}}'.encode()
    found = list(Scanner({}).find([b"{}", line]))
    assert found
    assert all(number == 2 for number, _ in found)
    assert secret not in str(found)


@pytest.mark.parametrize(
    "line",
    [
        b'{"model_options": {"api_key_env": "FASTINO_API_KEY"}, "question_id": "' + b"0a" * 32 + b'"}',
        b'{"state": "the bearer of this letter; risk-averse; ask-me"}',
        b'{"Authorization": "[redacted]"}',
        b'{"instructions": "Which api-key policy applies?"}',
    ],
)
def test_ordinary_text_is_none(line: bytes) -> None:
    assert list(Scanner({}).find([line])) == []


def test_values_of_key_variables_are_found_by_name() -> None:
    scanner = Scanner({"ODD_API_KEY": "correct horse", "SHORT_API_KEY": "abc", "HOME": "/root/somewhere"})
    found = list(scanner.find([b"abc /root/somewhere", b"x correct horse y"]))
    assert found == [(2, "the value of $ODD_API_KEY")]
