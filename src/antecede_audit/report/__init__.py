"""Results as one HTML file that opens offline: tables, charts, and spacetime diagrams.

`readers` turn files into plain values, `spacetime` turns an event log into what a diagram needs,
`charts` draw SVG, `sections` say which of it goes where, and `page` writes the file. The drawing of
a diagram happens in the browser (`page/assets`); everything that can be decided before is decided
here, where it can be tested.
"""
