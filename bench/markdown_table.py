"""Tables as Markdown has them."""


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Headings and rows, each with the same number of cells."""
    assert all(len(row) == len(heads) for row in rows), "every row has a cell for every heading"
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n".replace("| --- ", "|---") for line in lines)
