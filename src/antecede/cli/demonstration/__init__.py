"""What `antecede demo` does, step by step: plan, record, judge, compare, measure, sum up."""
