"""What stands in for other programs in tests/routes.py: for a Python with frameworks, and for qkprof."""

import os
import stat

# Stands in for a Python with frameworks: writes what a child would, by the name of the route.
PYTHON = r'''#!{python}
import json, os, signal, sys
arguments = dict(zip(sys.argv[4::2], sys.argv[5::2]))
route = arguments["--route"]
if route == "jax_ffi_copy":
    print("a last word", flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)
said = dict(route=route, versions=dict(python="3.0", jax="0.1"), problems=[])
if "--traffic" in arguments:
    forms = json.loads(arguments["--forms"])
    assert all(form == dict(rows=4) for form in forms.values()) and "exec" not in arguments
    if route == "jax_pallas_tile":
        said["failure"] = "RuntimeError: CUPTI failed"
    for problem in forms if "failure" not in said else []:
        said["problems"].append(dict(problem=problem, states=dict(), traffic=dict(warm=dict(
            dram_read_bytes=[4096, ""], dram_write_bytes=[None, "the GPU gave none"])), traffic_failures=dict(cold="it is broken")))
elif route.startswith("torch"):
    said["failure"] = "ModuleNotFoundError: No module named 'torch'"
else:
    for problem in arguments["--problems"].split(","):
        if route == "jax_pallas_mosaic":
            said["problems"].append(dict(problem=problem, states=dict(), failure="AssertionError in a: assert b"))
            continue
        name = route + "." + problem.replace("/", ".")
        wrong = route == "jax_ffi_naive_three_kernel"
        said["problems"].append(dict(problem=problem, form=dict(rows=4), hlo="/nowhere.hlo", verification=dict(
            correct=not wrong, error_norm=6e-8, wrong_elements=int(wrong)), states=dict(
            (state, dict(range=name + "." + state, calls=int(arguments["--calls"]), buffers=1))
            for state in arguments["--states"].split(","))))
json.dump(said, open(arguments["--out"], "w"))
'''

# Stands in for qkprof: `exec` runs the command and then makes up the records of what the child said that it called.
PROGRAM = r'''#!{python}
import json, subprocess, sys
if sys.argv[1] == "hlo":
    further = sys.argv[5:]
    assert not further or further[0] == "--observed" and json.load(open(further[1]))["ranges"]
    assert not further or further[2] == "--range" and further[3].startswith("qkprof@jax_")
    print(json.dumps(dict(totals=json.loads('{totals}'))))
    sys.exit()
assert sys.argv[1:3] == ["exec", "--out"] and sys.argv[4:6] == ["--quiet", "--"], sys.argv
command = sys.argv[6:]
code = subprocess.run(command).returncode
ranges = []
try:
    said = json.load(open(command[command.index("--out") + 1]))
except OSError:
    said = dict(problems=[])
for problem in said["problems"]:
    for state in problem["states"].values():
        call = [1, 0, 1, 5e-6, 5e-6, 1e-5]
        kernel = dict(name="k", count=state["calls"], in_other_forms=0, without_time=0, forms=[dict(
            grid=[1, 1, 1], block=[32, 1, 1], registers=16, static_shared=0, dynamic_shared=0, count=state["calls"])])
        ranges.append(dict(domain="qkprof", name=state["range"], inside=[], calls=state["calls"], open=0,
                           without_record=0, late_records=0, work=dict(kernels=[kernel]), first_calls=[call] * state["calls"]))
json.dump(dict(exec_schema=1, ranges=ranges, processes=[]), open(sys.argv[3], "w"))
sys.exit(128 - code if code < 0 else code)
'''


def write_program(path, text, **values):
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
