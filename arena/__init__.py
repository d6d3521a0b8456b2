"""arena: capability and reliability of System One decision models, measured together."""
