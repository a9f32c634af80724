"""A signal that asks for the end is an exception, so that what was started and what was written for a while go with it."""

import signal

import script

ASKED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end(number, frame):
    for asked in ASKED:  # once is enough: the clearing up goes to its end
        signal.signal(asked, signal.SIG_IGN)
    raise script.Failure(128 + number, f"It was ended by {signal.Signals(number).name}, with all that it had started.")


def install():
    for asked in ASKED:
        if signal.getsignal(asked) is not signal.SIG_IGN:  # as under nohup
            signal.signal(asked, end)
