"""The HTML file: markup, tables, style and scripts, all in one."""
