"""Results as one HTML file that opens offline: tables, charts, and spacetime diagrams.

`*_results.py` turn files into plain values, `*_page.py` make sections of them, `assemble.py` puts
these in order. `spacetime` turns an event log into what a diagram needs, `charts` draws SVG, and
`page` writes the file. The browser draws the diagrams (`page/assets`); everything that can be
decided before is decided here, where it can be tested.
"""
