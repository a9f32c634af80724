"""Measures the operation by other people's frameworks with qkprof's own instruments, beside the native variants.

  scripts/routes --out routes.json                          every route, on a GPU
  scripts/routes --routes 'jax_*' --dtypes f32,bf16 --out routes.json --format markdown
  scripts/routes --hlo-only --hlo-dir build/hlo             the HLO and its fusions, with no GPU
Each route runs in a process of its own under `qkprof exec`: its output is compared with a reference in double, its calls
are counted and timed by the GPU's records of them, and the HLO of those by JAX is kept and judged by `qkprof hlo`. What a
machine lacks or a framework refuses is an entry of the profile too, with the reason. The profile begins with the native
variants, as `qkprof run` measures them, and is written whole or not at all.
Onto a profile that has measurements of the routes, these are replaced by what is measured, and kept where nothing is.
Exit codes: 0; 2 usage or input; 3 no route could be measured; 4 cannot be measured on this machine; 5 a wrong result;
128 and the number of the signal that ended it.
"""

import argparse
import fnmatch
import json
import os
import subprocess
import sys
import tempfile

import script

from . import ending, entries, execution, hlo, preconditions, problems, profile_file, table
from .clocks import is_elsewhere
from .routes import ROUTES

NATIVES = "copy,fused_best,fused_register_paired,fused_tile_shared,split_two_kernel,naive_three_kernel"
SHAPES = "128x1024x16x128,1x1024x16x128,64x1x16x128"


def parse_options():
    parser = argparse.ArgumentParser(prog="routes", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", metavar="FILE", help="the profile")
    parser.add_argument("--shapes", default=SHAPES, help=f"BxSxHxD, or presets of qkprof list shapes; {SHAPES}")
    parser.add_argument("--dtypes", default="f32,bf16", help="f32, bf16, f16; f32,bf16")
    parser.add_argument("--states", default="warm,cold", help="of the cache: warm, cold; both")
    parser.add_argument("--samples", metavar="N", type=int, default=20, help="calls that are recorded of each; 20")
    parser.add_argument("--routes", metavar="GLOBS", default="*", help="with * and ?: " +
                        ", ".join(route.name for route in ROUTES))
    parser.add_argument("--natives", metavar="GLOBS", default=NATIVES, help=f"the variants beside them; {NATIVES}")
    parser.add_argument("--onto", metavar="PROFILE", help="of qkprof run: its problems and variants, instead of a new run")
    parser.add_argument("--python", default="python3", help="that has the frameworks; python3")
    parser.add_argument("--hlo-dir", metavar="DIR", help="keeps the HLO there, before and after optimisation")
    parser.add_argument("--hlo-only", action="store_true", help="the HLO alone, on whatever platform JAX has")
    parser.add_argument("--timeout", metavar="SECONDS", type=int, default=600, help="of one route; 600")
    parser.add_argument("--format", choices=["table", "markdown"], default="table")
    parser.add_argument("--build-dir", metavar="DIR", default=script.BUILD, help="qkprof and its libraries; build")
    own = parser.parse_args()
    own.build_dir = os.path.abspath(own.build_dir)
    own.qkprof = os.path.join(own.build_dir, "qkprof")
    if not own.hlo_only and not own.out:
        raise script.Failure(2, "--out FILE says where the profile goes (or --hlo-only asks for none).")
    if own.samples < 1 or own.timeout < 1:
        raise script.Failure(2, "--samples and --timeout are at least 1.")
    preconditions.check(own)
    own.chosen = chosen_routes(own)
    return own


def chosen_routes(own):
    chosen = [route for route in ROUTES if any(fnmatch.fnmatchcase(route.name, glob) for glob in own.routes.split(","))]
    for glob in own.routes.split(","):
        if not any(fnmatch.fnmatchcase(route.name, glob) for route in ROUTES):
            raise script.Failure(2, f"No route is called '{glob}': there are {', '.join(route.name for route in ROUTES)}.")
    return chosen


def listed_problems(own):
    """Of --shapes, where no device resolves the presets."""
    listed = subprocess.run([own.qkprof, "list", "shapes", "--format", "json"], capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        raise script.Failure(listed.returncode, listed.stderr.strip())
    presets = {}
    for row in json.loads(listed.stdout):
        presets.setdefault(row["preset"], []).extend(row["shapes"].split(","))
    found = {}
    for word in own.shapes.split(","):
        for shape in presets.get(word, [word]):
            for dtype in own.dtypes.split(","):
                problem = problems.parse(f"{shape}/{dtype}")
                if problem is None:
                    raise script.Failure(2, f"'{shape}' in {dtype} is no problem that the routes compute without a device: "
                                            "a shape is BxSxHxD, or a preset of such.")
                found[problem] = problems.SEED
    return found


def measure_natives(own, folder):
    path = os.path.join(folder, "native.json")
    command = [own.qkprof, "run", "--device", "cuda", "--variants", own.natives, "--shapes", own.shapes, "--dtypes",
               own.dtypes, "--states", own.states, "--samples", str(own.samples), "--out", path]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)
    if not os.path.exists(path):
        raise script.Failure(done.returncode or 4, f"qkprof run kept no profile: {done.stderr.strip()}")
    sys.stderr.write(done.stderr)
    return profile_file.read(path)


def entries_of_route(own, route, wanted, executed, exec_profile):
    made = []
    for problem, seed in wanted.items():
        reason = executed.not_run(problem.text)
        record = executed.records.get(problem.text)
        for state in own.states.split(","):
            if reason or state not in record["states"]:
                made += entries.not_run(route, problem, state, seed, reason or executed.reason or "its process ended")
                continue
            row = executed.ranges.get(record["states"][state]["range"])
            counters = {}
            if route.has_hlo:
                counters = hlo.counters(own.qkprof, record["hlo"], exec_profile, row["name"] if row else None)
            made += entries.measured(route, problem, state, seed, record, row, counters)
    return made


def measure(own, folder):
    profile = profile_file.read(own.onto) if own.onto else measure_natives(own, folder)
    wanted = profile_file.plain_problems(profile)
    if not wanted:
        raise script.Failure(2, "None of the problems is in the plain form that the routes compute.")
    if len(set(wanted.values())) > 1:
        raise script.Failure(2, "The problems are of several seeds: one run of the routes has one.")
    own.seed = next(iter(wanted.values()))
    uuid = str(profile["context"]["device"].get("facts", {}).get("uuid", ""))
    if own.onto and uuid and is_elsewhere(uuid):
        raise script.Failure(4, f"{own.onto} was measured on the GPU {uuid}, which is not here: what comes onto it must be "
                                "measured on the same.")
    versions, made = profile["context"].get("frameworks", {}), []
    for route in own.chosen:
        print(f"routes: {route.name}: {route.meaning}", file=sys.stderr)
        executed, exec_profile = execution.run_route(own, route, [problem.text for problem in wanted],
                                                     profile["context"]["device"], folder)
        of_route = entries_of_route(own, route, wanted, executed, exec_profile)
        if all("not_run" in entry for entry in of_route):  # what is kept was measured with the others
            versions = {**executed.versions, **versions}
        else:
            versions = {**versions, **executed.versions}
        made += of_route
    profile["context"]["frameworks"] = versions
    profile["benchmarks"], kept = profile_file.merged(profile["benchmarks"], made)
    for name, reason in kept.items():
        print(f"routes: {name}: not run: {reason}; what {own.onto} holds of it is kept.", file=sys.stderr)
    profile_file.write(own.out, profile_file.text_of(profile))
    print(table.render(profile["benchmarks"], own.format == "markdown"), end="")
    if any(entry.get("correct") is False for entry in made):
        return 5
    return 0 if any("correct" in entry for entry in made) else 3


def compile_only(own, folder):
    wanted = listed_problems(own)
    compiled = 0
    for route in own.chosen:
        if not route.has_hlo:
            continue
        executed = execution.compile_route(own, route, [problem.text for problem in wanted], folder)
        absent = {}
        for problem in wanted:
            reason = executed.not_run(problem.text)
            if not reason:
                totals, reason = hlo.totals_of(own.qkprof, executed.records[problem.text]["hlo"])
            if reason:
                absent.setdefault(reason.rstrip("."), []).append(problem.text)
                continue
            compiled += 1
            print(f"{route.name} {problem.text}: " + ", ".join(
                f"{totals[key]['instructions']} {key.replace('_', ' ')}" for key in hlo.CLASSES))
        for reason, texts in absent.items():
            print(f"{route.name} {', '.join(texts)}: not run: {reason}.")
    return 0 if compiled else 3


def body():
    ending.install()
    own = parse_options()
    with tempfile.TemporaryDirectory(prefix="qkprof-routes.") as folder:
        own.hlo_dir = os.path.abspath(own.hlo_dir) if own.hlo_dir else os.path.join(folder, "hlo")
        os.makedirs(own.hlo_dir, exist_ok=True)
        return compile_only(own, folder) if own.hlo_only else measure(own, folder)


if __name__ == "__main__":
    script.main("routes", body)
