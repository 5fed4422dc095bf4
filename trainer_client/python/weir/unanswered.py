"""How a program ends that has waited for the platform in vain: by an exit code that costs its run no attempt."""

from __future__ import annotations

import sys
from types import TracebackType

from weir import _weir

EXIT_UNANSWERED = 75  # EX_TEMPFAIL of sysexits.h: docs/guides/write-a-training-loop.md


def end_so() -> None:
    """Let Unavailable and Timeout, where nobody catches them, end a program with that code, once they are shown."""
    show = sys.excepthook

    def show_and_end(kind: type[BaseException], value: BaseException, traceback: TracebackType | None) -> None:
        show(kind, value, traceback)
        is_at_a_prompt = hasattr(sys, "ps1")
        if issubclass(kind, (_weir.Unavailable, _weir.Timeout)) and not is_at_a_prompt:
            sys.exit(EXIT_UNANSWERED)

    sys.excepthook = show_and_end
