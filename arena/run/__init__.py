"""Plan, schedule, record, summarise, resume, replay."""
