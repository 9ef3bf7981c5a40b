"""What must survive a crash, on disk before anybody else can know of it.

A journal is a folder with one file: what was known when the file was begun, and everything since.

    log_format.py     how groups of records become blocks with checksums, and back
    disk.py           what a journal asks of a file system, so that tests can make it fail
    journal.py        open, append, commit, rewrite, look inside: the journal itself
    recorder.py       what a node with a journal, or without one, does with all that happens
    node_state.py     the records of a node, beside those of its core, and what they add up to
    record_kinds.py   the kinds of those records
    unconfirmed.py    what was delivered and is not confirmed
    losses.py         what was given up, until the application knows it
"""
