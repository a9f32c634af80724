"""The entries of a profile for one measurement of a route: one for each call that was recorded, all that is not its time
in the first."""

import math

from . import problems

COUNTED = "counted"


def head(route, problem, state, repetitions):
    name = problems.measurement_name(route.name, problem, state)
    return {"name": name, "run_name": name, "run_type": "iteration", "repetitions": repetitions}


def facts(route, problem, state, seed):
    return {"variant": route.name, "family": route.family, **problem.fields(), "state": state, "eps": problems.EPS,
            "rotary_base": problems.ROTARY_BASE, "seed": seed, "offset": 0, "parameters": {}, "non_standard": []}


def untimed(route, problem, state, reason):
    return {**head(route, problem, state, 0), "run_type": "aggregate", "threads": 1, "aggregate_name": "untimed",
            "real_time": None, "real_time_reason": reason}


def not_run(route, problem, state, seed, reason):
    reason = reason.rstrip(".")
    said = f"not run: {reason}"
    return [{**untimed(route, problem, state, said), **facts(route, problem, state, seed), "error_occurred": True,
             "error_message": said, "compulsory_bytes": problem.compulsory_bytes, "not_run": reason}]


def finite(value):
    return value if math.isfinite(value) else None


def verification_fields(found):
    fields = {"correct": found["correct"], "error_norm": finite(found["error_norm"]),
              "wrong_elements": found["wrong_elements"]}
    if fields["error_norm"] is None:
        fields["error_norm_reason"] = "the output holds values that are not finite"
    if "first_wrong" in found:
        wrong = found["first_wrong"]
        fields["first_wrong"] = {**wrong, "got": finite(wrong["got"]), "expected": finite(wrong["expected"])}
    return fields


def error_text(problem, found):
    if found["correct"]:
        return ""
    if "first_wrong" not in found:
        return "wrong result: each element is within its bound, but the norm-relative error is " + \
            f"{found['error_norm']:.2g}"
    wrong = found["first_wrong"]
    return (f"wrong result: {found['wrong_elements']} of {problem.rows * problem.head_dim} elements, the first at "
            f"b={wrong['batch']} s={wrong['position']} h={wrong['head']} d={wrong['column']}: got {wrong['got']:g}, "
            f"expected {wrong['expected']:g}")


def per_call(calls, key):
    """The number of each call, where it is the same in all of them, and else why it is not known."""
    numbers = sorted({call[key] for call in calls})
    if not numbers:
        return None, "no call of it was recorded"
    return (numbers[0], "") if len(numbers) == 1 else (None, f"it differs between the calls: {numbers[0]} to {numbers[-1]}")


def kernels_of(row):
    """Those that were launched alike are one."""
    kernels = []
    for kernel in row["work"]["kernels"]:
        for form in kernel["forms"]:
            kernels.append({"name": kernel["name"], "launches": form["count"] / row["calls"], "grid": form["grid"],
                            "block": form["block"], "registers": form["registers"],
                            "static_shared": form["static_shared"], "dynamic_shared": form["dynamic_shared"]})
            if kernels[-1]["launches"].is_integer():
                kernels[-1]["launches"] = int(kernels[-1]["launches"])
    return kernels


def resources_of(row, kernels):
    if any(kernel["in_other_forms"] for kernel in row["work"]["kernels"]):
        return {name: (None, "it was launched in more forms than are kept") for name in ("registers", "shared_bytes")}
    if not kernels:
        return {name: (None, "the call launches no kernel") for name in ("registers", "shared_bytes")}
    return {"registers": (max(kernel["registers"] for kernel in kernels), ""),
            "shared_bytes": (max(kernel["static_shared"] + kernel["dynamic_shared"] for kernel in kernels), "")}


def counter_fields(counters):
    fields = {}
    for name, (value, reason) in counters.items():
        fields[name] = value
        fields[f"{name}_reason" if value is None else f"{name}_source"] = reason if value is None else COUNTED
    return fields


def fault_of(row, calls):
    """Why the records of a range are not those of the calls, a clause; empty where they are."""
    if row is None:
        return "the records of qkprof exec have no range of these calls"
    if row["calls"] != calls or len(row["first_calls"]) != calls or row["open"]:
        return f"{calls} calls were made and the records have {row['calls']}"
    if row["without_record"] or row["late_records"] or any(kernel["without_time"] for kernel in row["work"]["kernels"]):
        return "some of what the calls submitted has no record, or one without its time, or too late"
    if not all(call["busy_seconds"] > 0 for call in row["first_calls"]):
        return "calls of it have no record of a kernel or copy: were they submitted by another thread?"
    return ""


# What the program counts of its variants (harness/cuda/traffic.cpp).
TRAFFIC = ("dram_read_bytes", "dram_write_bytes", "l2_read_sectors", "l2_write_sectors", "global_load_sectors",
           "global_store_sectors", "shared_wavefronts", "bank_conflicts", "achieved_occupancy", "instructions")


def traffic_of(record, state):
    counted = record.get("traffic", {}).get(state)
    if counted is None:
        reason = record.get("traffic_failures", {}).get(state) or "its traffic was not counted"
        return {name: (None, reason.rstrip(".")) for name in TRAFFIC}
    return {name: tuple(counter) for name, counter in counted.items()}


def measured(route, problem, state, seed, record, row, hlo_counters):
    """`record` is the child's of the problem, `row` the range's of exec or None."""
    calls = record["states"][state]["calls"]
    fault = fault_of(row, calls)
    found = record["verification"]
    error = error_text(problem, found)
    whole = facts(route, problem, state, seed)
    if error:
        whole.update(error_occurred=True, error_message=error)
    whole.update(compulsory_bytes=problem.compulsory_bytes, **verification_fields(found))
    kernels = [] if fault else kernels_of(row)
    counters = {name: (None, fault) if fault else per_call(row["first_calls"], name)
                for name in ("launches", "submissions", "transfers")}
    counters.update({name: (None, fault) for name in ("registers", "shared_bytes")} if fault else
                    resources_of(row, kernels))
    for name in ("sm_clock_mhz", "memory_clock_mhz"):
        clocks = record["states"][state]
        counters[name] = (clocks.get(name), clocks.get("clock_failure", "the GPU's clocks were not read"))
    whole.update(counter_fields({**counters, **traffic_of(record, state), **hlo_counters}), kernels=kernels,
                 contradictions=[])
    if record.get("form"):
        whole["form"] = " ".join(f"{name}={value}" for name, value in record["form"].items())
    whole["result_buffers"] = record["states"][state]["buffers"]
    if fault or error:
        return [{**untimed(route, problem, state, error or fault), **whole}]
    entries = []
    for index, call in enumerate(row["first_calls"]):
        entries.append({**head(route, problem, state, calls), "repetition_index": index, "threads": 1, "iterations": 1,
                        "real_time": call["busy_seconds"] * 1e6, "cpu_time": call["host_seconds"] * 1e6,
                        "time_unit": "us", "timer": "cupti"})
    entries[0].update(whole)
    return entries
