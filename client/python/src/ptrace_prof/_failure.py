"""The text of an error, and the class of each reason.

An error of errors.py holds the Trace that was recorded before it, so a Trace and its readers lie below errors.py: they
raise by reason, and errors.py registers the classes.
"""
from __future__ import annotations

from typing import Optional


class Failure(Exception):
    """What PtraceProfError, its only subclass, describes; without the trace and the capture."""

    code: str
    reason: str

    def __init__(self, message: str, *, code: str = "", reason: str = "", remedy: str = "", thing: str = "",
                 retry_after: Optional[float] = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.reason = reason or type(self).reason
        self.remedy = remedy
        self.thing = thing
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"{self.message}\n{self.remedy}" if self.remedy else self.message


CLASSES: dict[str, type[Failure]] = {}  # by reason; filled by errors.py


def failure(reason: str, message: str, *, remedy: str = "") -> Failure:
    """Returns an instance of the class that errors.py has for `reason`."""
    return CLASSES[reason](message, remedy=remedy)
