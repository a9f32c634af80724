"""Why a route did not run, in the framework's own words."""

import traceback


class NotRun(Exception):
    """A reason that is known before anything fails: a clause."""


def words(error):
    """The type and the first line of what was raised; where that is empty, as of a bare assert, the line of code that
    raised it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if isinstance(error, NotRun):
        return lines[0]
    if lines:
        return f"{type(error).__name__}: {lines[0][:300]}"
    frames = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__} in {frames[-1].name}: {frames[-1].line}" if frames else type(error).__name__
