"""Turns the traces of other systems into the event log, and into a workload that can be replayed.

`formats` reads files, `messages` makes messages of spans, `clocks` repairs what the clocks of
different machines got wrong, `order` numbers the events of each process, `causes` says what each
message has to wait for, and `steps` joins these.
"""
