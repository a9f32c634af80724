"""Profiles of `qkprof run` as files: read, with framework entries behind their own, and written whole or not at all."""

import json
import os
import tempfile

import script

from .problems import Problem

# What makes a problem another than the plain form: an entry has these only then.
OTHER_FORMS = ("key_heads", "layout", "row_padding", "in_place", "pairing", "rotary_dim", "positions", "context",
               "table_dtype", "gamma_dtype", "gemma", "values")


def read(path):
    with open(path, encoding="utf-8") as file:
        try:
            profile = json.load(file)
        except ValueError as error:
            raise script.Failure(2, f"{path} is not JSON, so no profile: {error}.") from error
    if not isinstance(profile, dict) or not isinstance(profile.get("benchmarks"), list) or \
            "schema_version" not in profile.get("context", {}):
        raise script.Failure(2, f"{path} is no profile of qkprof: it has no context with a schema_version, or no list of "
                                "benchmarks.")
    return profile


def plain_problems(profile):
    """Of the measurements, each once, in their order: those in the plain form with the standard numbers."""
    found = {}
    for entry in profile["benchmarks"]:
        if "batch" in entry and not any(key in entry for key in OTHER_FORMS) and entry["offset"] == 0 and \
                entry["eps"] == 1e-6 and entry["rotary_base"] == 10000:
            problem = Problem(*(entry[key] for key in ("batch", "sequence", "heads", "head_dim", "dtype")))
            if problem.rows > 0:
                found.setdefault(problem, entry["seed"])
    return found


def text_of(profile):
    """An entry a line, as the program writes them."""
    def line(value):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    entries = ",\n".join(map(line, profile["benchmarks"]))
    return f'{{"context": {line(profile["context"])},\n"benchmarks": [\n{entries}\n]}}\n'


def write(path, text):
    """The whole file or none: under another name first."""
    folder = os.path.dirname(path) or "."
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=os.path.basename(path) + ".")
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
