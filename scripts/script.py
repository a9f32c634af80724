"""What the Python scripts share: how they end, and where the program is."""

import os
import shutil
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
BUILD = os.path.join(TOP, "build")
PROGRAM = os.path.join(BUILD, "qkprof")


class Failure(Exception):
    """Ends a script with a sentence and an exit code; the codes are those of qkprof."""

    def __init__(self, code, sentence):
        super().__init__(sentence)
        self.code = code


def find_tool(name, places, failure):
    """A tool of NVIDIA's: the one on PATH, else the first of these that can be run; else the sentence, and exit code 4."""
    for place in (shutil.which(name), *places):
        if place and os.access(place, os.X_OK):
            return place
    raise Failure(4, failure)


def check_destination(path):
    """Fails where no file can be put: what is there and is no file stays."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise Failure(2, f"{path} cannot be written: there is no folder {folder}.")
    if os.path.exists(path) and not os.path.isfile(path):
        raise Failure(2, f"{path} is no regular file: name another.")
    return folder


def write_whole(path, text):
    """The whole file or none: under another name first."""
    folder = check_destination(path)
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=os.path.basename(path) + ".")
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def main(name, body):
    """Runs body() and exits with what it returns; a Failure is said in one line."""
    try:
        sys.exit(body())
    except Failure as failure:
        print(f"{name}: {failure}", file=sys.stderr)
        sys.exit(failure.code)
    except OSError as error:
        print(f"{name}: {f'{error.filename}: ' if error.filename else ''}{error.strerror}.", file=sys.stderr)
        sys.exit(2)
