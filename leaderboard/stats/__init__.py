"""The parts of ``arena.leaderboard.statistics``, which re-exports them."""
