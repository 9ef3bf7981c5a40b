"""How many of something, in words."""


def counted(count: int, one: str, many: str = "") -> str:
    """`1 message`, `2,000 messages`; a plural that does not end in s is given."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
