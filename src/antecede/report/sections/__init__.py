"""The parts of a report: each takes what was read and says it with tables, charts and words."""
