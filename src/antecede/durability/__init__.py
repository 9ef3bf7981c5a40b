"""What must survive a crash, on disk before anybody else can know of it.

A journal is a folder with one file: what was known when the file was begun, and everything since.

    blocks.py     how groups of records become bytes with checksums, and back
    disk.py       the few things that are asked of a file system, so that tests can make them fail
    journal.py    open, append, make durable, begin anew, look inside: the journal itself
"""
