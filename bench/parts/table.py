"""A table of the page, as lines of text."""


def table(heads, rows):
    return ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads),
            *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows), ""]
