"""Runs the problems of one route in a process of its own: python -m framework_routes.child. Under `qkprof exec` it makes
the calls that are counted and timed: that is not here, but in the records of the GPU, by the ranges that each call runs
in. With --traffic, and not under exec, it counts the memory traffic of the calls, in the forms that the other chose.

What it found goes to --out, anew after each problem, so that what ended the process loses no more than one problem."""

import argparse
import importlib
import json
import os
import platform
import sys
import time

from . import problems
from .clocks import Clocks
from .eviction import Eviction
from .not_run import NotRun, words
from .ranges import Ranges
from .routes import route_of
from .traffic import Traffic

WARM_UP_CALLS = 3
TRIES = 3
TRIED_CALLS = 20


def write(path, result):
    part = f"{path}.part"
    with open(part, "w", encoding="utf-8") as file:
        json.dump(result, file)
    os.replace(part, path)


def save_hlo(folder, route, problem, compiled, record):
    if folder is None or compiled.hlo is None:
        return
    stem = os.path.join(folder, f"{route.name}.{problem.shape}.{problem.dtype}")
    for key, suffix, text in (("hlo", ".hlo", compiled.hlo), ("hlo_before", ".before.hlo", compiled.before)):
        with open(stem + suffix, "w", encoding="utf-8") as file:
            file.write(text)
        record[key] = stem + suffix


def seconds_of(framework, compiled, arguments):
    """Of a call among many in a row, where the host's part of one is hidden behind the GPU's of another, unless that is the
    shorter. The least of a few tries."""
    framework.wait(compiled.call(*arguments))
    least = float("inf")
    for _ in range(TRIES):
        begin = time.perf_counter()
        for _ in range(TRIED_CALLS):
            output = compiled.call(*arguments)
        framework.wait(output)
        least = min(least, time.perf_counter() - begin)
    return least / TRIED_CALLS


def fastest(framework, problem, arguments):
    """Of the forms that compile. Where none does, the first one's words."""
    tried, errors = [], []
    for form in framework.forms(problem):
        try:
            compiled = framework.compile(problem, form)
            tried.append((seconds_of(framework, compiled, arguments) if arguments else 0, len(tried), form, compiled))
        except Exception as error:  # whatever a framework raises
            errors.append(error)
        if tried and not arguments:
            break
    if not tried:
        raise errors[0]
    _, _, form, compiled = min(tried)
    return form, compiled


def measure(framework, instruments, name, evict, calls, compiled, arguments):
    """Each call in its range, with nothing on the GPU before it; the last result is given back first, so that the
    framework's allocator can take the same memory again. `evict`: None for warm calls."""
    ranges, clocks = instruments
    for _ in range(WARM_UP_CALLS):
        framework.wait(compiled.call(*arguments))
    addresses = set()
    for _ in range(calls):
        if evict is not None:
            evict()
        clocks.read()
        with ranges(name):
            output = compiled.call(*arguments)
            framework.wait(output)
        clocks.read()
        addresses.add(framework.address(output))
        del output
    return {"range": name, "calls": calls, "buffers": len(addresses), **clocks.take()}


def count_traffic(framework, counter, evict, own, problem, form, record):
    """Of one call in each state. The last result is given back before each, as in measure()."""
    from . import operation
    arguments = framework.upload(operation.Inputs(problem, own.seed))
    compiled = framework.compile(problem, form)
    for state in own.states.split(","):
        def warm():
            framework.wait(compiled.call(*arguments))

        def cold():
            warm()
            evict()

        for _ in range(WARM_UP_CALLS):
            warm()
        try:
            record["traffic"][state] = counter.count(cold if state == "cold" else warm, warm)
        except Exception as error:  # whatever a framework, or the library, raises
            record["traffic_failures"][state] = words(error)


def run_problem(route, framework, instruments, evict, problem, own, record):
    from . import operation  # numpy: a Python without it must come to say so
    if own.hlo_only:
        record["form"], compiled = fastest(framework, problem, None)
        return save_hlo(own.hlo_dir, route, problem, compiled, record)
    inputs = operation.Inputs(problem, own.seed)
    arguments = framework.upload(inputs)
    record["form"], compiled = fastest(framework, problem, arguments)
    save_hlo(own.hlo_dir, route, problem, compiled, record)
    output = compiled.call(*arguments)
    framework.wait(output)
    record["verification"] = operation.verify(inputs, framework.download(problem, output), route.family == "ceiling")
    del output, inputs
    for state in own.states.split(","):
        record["states"][state] = measure(
            framework, instruments, problems.range_name(route.name, problem, state),
            evict if state == "cold" else None, own.calls, compiled, arguments)


def loaded(instrument, library, *arguments):
    if library is None:
        raise NotRun(f"no library was named for {instrument.__name__}")
    try:
        return instrument(library, *arguments)
    except (OSError, AttributeError) as error:  # it is not there, or another library
        raise NotRun(f"{os.path.basename(library)}, an instrument, cannot be loaded: {error}") from error


def run(route, own, result):
    module = importlib.import_module(f".{route.module}", __package__)
    framework = module.open_route(route.argument, own.ffi)
    result["versions"].update(framework.versions())
    instruments = evict = None
    if not own.hlo_only:
        framework.require_gpu()
        evict = loaded(Eviction, own.eviction, own.evicted_bytes)
        instruments = loaded(Traffic, own.traffic) if own.traffic else (loaded(Ranges, own.ranges), Clocks(own.gpu))
    for text in own.problems.split(","):
        record = {"problem": text, "states": {}, "traffic": {}, "traffic_failures": {}}
        try:
            if own.traffic:
                count_traffic(framework, instruments, evict, own, problems.parse(text), own.forms[text], record)
            else:
                run_problem(route, framework, instruments, evict, problems.parse(text), own, record)
        except Exception as error:  # whatever a framework raises: the next problem goes on
            record["failure"] = words(error)
        result["problems"].append(record)
        write(own.out, result)


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for option in ("--route", "--problems", "--out"):
        parser.add_argument(option, required=True)
    parser.add_argument("--forms", type=json.loads, help="of each problem, for --traffic")
    for option in ("--states", "--ffi", "--eviction", "--ranges", "--traffic", "--gpu", "--hlo-dir"):
        parser.add_argument(option)
    for option in ("--calls", "--seed", "--evicted-bytes"):
        parser.add_argument(option, type=int)
    parser.add_argument("--hlo-only", action="store_true")
    own = parser.parse_args()
    route = route_of(own.route)
    result = {"route": route.name, "versions": {"python": platform.python_version()}, "problems": []}
    try:
        run(route, own, result)
    except Exception as error:  # an import that fails, a GPU that is not there
        result["failure"] = words(error)
    write(own.out, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
