"""The wire format of ``POST /v1/systemone``, both ways, without I/O.

``encode`` makes the request bytes, ``decode`` reads a reply's bytes, ``beyond`` says before a call what a
provider does not take. Nothing is rewritten: a question that a server cannot take as it stands is
unsupported. Answers pass through raw; whether they are valid is the gate's business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from arena.gate import number
from arena.identity import dump, load
from arena.models.catalog import Provider
from arena.records import Outcome
from arena.session import Ask, Reply
from arena.types import JSON, Noul, Question, Score

BODY_KEPT = 16_384
"""Characters of an unreadable reply that are kept."""


def encode(ask: Ask, model: str) -> bytes:
    """The request body: model, state and questions, in the order given, and no other field."""
    questions = {name: question.wire() for name, question in ask.questions.items()}
    return dump({"model": model, "state": ask.state, "questions": questions})


def beyond(ask: Ask, provider: Provider) -> list[str]:
    """Why ``provider`` cannot take this ask as it stands; empty when it can."""
    limits = provider.limits
    reasons = []
    if limits.questions is not None and len(ask.questions) > limits.questions:
        reasons.append(f"{len(ask.questions)} questions, {provider.name} takes {limits.questions}")
    for name, question in ask.questions.items():
        reasons += [f"{name}: {fault}" for fault in _question_faults(question, provider)]
    return reasons


def _question_faults(question: Question, provider: Provider) -> Iterator[str]:
    most = provider.limits.levels if isinstance(question, Score) else provider.limits.options
    what = "levels" if isinstance(question, Score) else "options"
    count = len(question.labels())
    if not isinstance(question, Noul) and most is not None and count > most:
        yield f"{count} {what}, {provider.name} takes {most}"
    if provider.instructions_required and not question.instructions:
        yield f"no instructions, which {provider.name} requires"
    if provider.text == "string" and not isinstance(question.instructions, str | None):
        yield f"instructions are not a string, {provider.name} takes only strings"
    descriptions: list[JSON] = []
    if isinstance(question, Score):
        descriptions = list(question.criteria)
    elif question.criteria is not None:
        descriptions = list(question.criteria.values())
    if not provider.null_descriptions and any(text is None for text in descriptions):
        yield f"an option without a description, which {provider.name} requires"
    kinds = str if isinstance(question, Score) else str | None
    if provider.text == "string" and any(not isinstance(text, kinds) for text in descriptions):
        yield f"a {what[:-1]} description is not a string, {provider.name} takes only strings"


def decode(body: bytes, provider: Provider) -> Reply:
    """Read the body of a reply with a success status.

    ``invalid_response`` where no answers can be read (not JSON, an error in their place, no envelope), with the
    body kept; ``refused`` when every answer is a refusal. Attempts and latency are the caller's to add.
    """
    try:
        content = load(body)
    except (ValueError, RecursionError):
        return unreadable(body, "a web page" if looks_like_html(body) else "not JSON")
    if not isinstance(content, dict):
        return unreadable(body, f"JSON, but {type(content).__name__} and not an object")
    if provider.envelope == "cloudflare" and "answers" not in content:
        if content.get("success") is not True or not isinstance(content.get("result"), dict):
            return unreadable(body, f"an unsuccessful envelope: {error_message(content)}")
        content = content["result"]
    answers = content.get("answers")
    if not isinstance(answers, dict):
        found = f"an error in place of answers: {error_message(content)}" if "error" in content else "no answers"
        return unreadable(body, found)
    usage = content.get("usage")
    model = content.get("model")
    refused = bool(answers) and all(isinstance(a, dict) and a.get("type") == "refusal" for a in answers.values())
    return Reply(
        answers,
        outcome="refused" if refused else "ok",
        error="the model refused every question" if refused else None,
        body=text_of(body) if refused else None,
        server_latency_ms=number(content.get("latency_ms")),
        usage=usage if isinstance(usage, dict) else None,
        model_version=model if isinstance(model, str) else None,
    )


def unreadable(body: bytes, found: str) -> Reply:
    """The reply for a body without answers."""
    return Reply({}, outcome="invalid_response", error=f"the server answered {found}"[:500], body=text_of(body))


def text_of(body: bytes) -> str:
    """A body as text, cut to ``BODY_KEPT`` characters with a note of what was cut."""
    text = body.decode("utf-8", "replace")
    return text if len(text) <= BODY_KEPT else f"{text[:BODY_KEPT]}… [cut; {len(body)} bytes in all]"


def looks_like_html(body: bytes) -> bool:
    """Whether the body is a web page."""
    head = body.lstrip()[:256].lower()
    return head.startswith((b"<!doctype", b"<html", b"<head", b"<body")) or b"<html" in head


def outcome_of(status: int) -> Outcome:
    """What a status other than success means."""
    if status in (401, 402, 403):
        return "auth"
    if status in (400, 413, 422, 501):
        return "unsupported"
    if status in (408, 504):
        return "timeout"
    if status == 425:
        return "warming"
    if status == 429:
        return "rate_limited"
    return "server_error" if status >= 500 else "invalid_response"


def error_message(content: JSON) -> str:
    """The server's own words out of any of the error shapes in use; empty when there are none."""
    if isinstance(content, str):
        return content.strip()[:300]
    if isinstance(content, list):
        return "; ".join(part for part in map(error_message, content[:3]) if part)
    if not isinstance(content, Mapping):
        return ""
    if isinstance(content.get("msg"), str):
        spot = content.get("loc")
        where = ".".join(map(str, spot)) if isinstance(spot, list) else ""
        return f"{where}: {content['msg']}" if where else str(content["msg"])
    for key in ("error", "errors", "detail", "message"):
        if found := error_message(content.get(key)):
            return found
    return next((str(content[key]) for key in ("error_type", "type", "code") if content.get(key)), "")


def error_codes(content: JSON) -> set[str]:
    """Every ``code`` and ``type`` in an error body, as strings."""
    codes: set[str] = set()
    if isinstance(content, Mapping):
        for key, value in content.items():
            if key in ("code", "type", "error_type", "error_code") and isinstance(value, str | int):
                codes.add(str(value))
            codes |= error_codes(value)
    elif isinstance(content, list):
        for value in content:
            codes |= error_codes(value)
    return codes
