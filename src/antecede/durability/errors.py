"""What can be wrong with a journal, each with a sentence that says what to do."""

from antecede.core.errors import AntecedeError, LocalError


class JournalInUse(LocalError):  # noqa: N818 - reads as what it is
    """Another process has this journal open; two would overwrite each other."""


class JournalCorrupt(LocalError):  # noqa: N818 - reads as what it is
    """Something in the middle of the journal has changed since it was written."""


class JournalFull(AntecedeError):  # noqa: N818 - reads as what it is
    """No room on the disk, or within the limit: nothing was lost, and it goes on later."""


class JournalUnavailable(LocalError):  # noqa: N818 - reads as what it is
    """The folder or a file of the journal cannot be opened or read; nothing has changed."""


class JournalFailed(AntecedeError):  # noqa: N818 - reads as what it is
    """The disk did not keep its word; what is on it is unknown, so the process must not go on."""
