"""The HTML file around the sections: markup, tables, style and scripts, all in one."""
