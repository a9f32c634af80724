"""What can be known to fail before anything runs: no hour is measured for a file that cannot be written."""

import os
import shutil

import script

from .problems import BYTES, STATES


def words_of(option, text, known):
    """The words of a list, each once, in their order; all of them known."""
    words = list(dict.fromkeys(text.split(",")))
    for word in words:
        if word not in known:
            raise script.Failure(2, f"{option} '{text}': '{word}' is none of {', '.join(known)}.")
    return words


def check_lists(own):
    """Makes each of the lists name its words once."""
    own.states = ",".join(words_of("--states", own.states, STATES))
    own.dtypes = ",".join(words_of("--dtypes", own.dtypes, BYTES))
    for name in ("shapes", "routes", "natives"):
        setattr(own, name, ",".join(dict.fromkeys(getattr(own, name).split(","))))


def check_out(path):
    folder = os.path.dirname(path) or "."
    reason = ""
    if os.path.isdir(path):
        reason = "it is a folder, and the profile is a file"
    elif not os.path.isdir(folder):
        reason = f"there is no folder {folder}"
    elif not os.access(folder, os.W_OK | os.X_OK):
        reason = f"nothing may be written in the folder {folder}"
    if reason:
        raise script.Failure(2, f"--out {path} cannot be written: {reason}.")


def check_programs(own):
    if shutil.which(own.python) is None:
        raise script.Failure(2, f"--python {own.python}: there is no program of this name that can be run.")
    if not os.path.isdir(own.build_dir):
        raise script.Failure(2, f"--build-dir {own.build_dir}: there is no such folder; it is the one that qkprof was built in.")
    if shutil.which(own.qkprof) is None:
        raise script.Failure(2, f"--build-dir {own.build_dir}: there is no program qkprof in it; build it there, or name the "
                                "folder that it was built in.")


def check(own):
    check_lists(own)
    if own.out and not own.hlo_only:
        check_out(own.out)
    check_programs(own)
