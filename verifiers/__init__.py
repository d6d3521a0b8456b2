"""Record in, verdict out: pure judgements of recorded end states."""
