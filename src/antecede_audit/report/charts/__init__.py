"""Charts as SVG text, in colours that the page's style decides: the same file is light and dark."""
