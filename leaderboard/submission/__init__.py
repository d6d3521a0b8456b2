"""Submissions: runs bundled so that others can check every figure, and the check itself.

``prepare`` writes a folder with the runs, their hashes and what the submitter declares; ``check`` trusts none of it:
hashes, summaries, items, golds, completeness and the absence of secrets are all established again from the bytes.
"""

from arena.leaderboard.submission.bundle import prepare
from arena.leaderboard.submission.check import Refusal, Report, check
from arena.leaderboard.submission.models import Declared, Submission, schemas

__all__ = ["Declared", "Refusal", "Report", "Submission", "check", "prepare", "schemas"]
