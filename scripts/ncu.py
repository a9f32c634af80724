"""Nsight Compute for the scripts: calls ncu on the ranges of `qkprof trace` and reads what it counted.

How ncu must be called so that its numbers are those of the stated cache state:
  --cache-control none  ncu would flush the caches before each kernel, and warm would be cold.
  --clock-control none  ncu would lock the clock, which is not how qkprof measures.
  --replay-mode application  What is asked for takes several passes. ncu's standard is to run the one kernel again for each,
      with its memory restored in between: the first pass then finds the state that was prepared, and every later one what
      the restoring left behind. Here each pass runs the program anew and qkprof prepares the state itself, as it does in
      each pass of its own counting.
"""

import csv
import glob
import os
import re
import subprocess

from script import BUILD, PROGRAM, Failure, find_tool, main

METRICS = [
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "lts__t_sectors_srcunit_tex_op_read.sum",
    "lts__t_sectors_srcunit_tex_op_write.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum",
    "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "launch__registers_per_thread",
    "launch__shared_mem_per_block_dynamic",
    "launch__grid_size",
]

PERMISSION = (
    "ncu may not read the GPU's counters (ERR_NVGPUCTRPERM): allow it to all users with the driver's option "
    "NVreg_RestrictProfilingToAdminUsers=0, or run as root."
)
# What ncu says, and what that means.
REFUSALS = [
    ("ERR_NVGPUCTRPERM", PERMISSION),
    ("No kernels were profiled", "ncu found no kernel in the ranges of qkprof trace: is NVTX switched off, or another "
     "profiler attached?"),
]


def find_ncu():
    places = ["/usr/local/cuda/bin/ncu", *sorted(glob.glob("/opt/nvidia/nsight-compute/*/ncu"))[::-1]]
    return find_tool("ncu", places, "ncu was not found on PATH, in /usr/local/cuda/bin or in /opt/nvidia/nsight-compute: "
                                    "install Nsight Compute, or name it with --ncu.")


def run(command, log):
    """Runs the command with all that it says in the file `log`; its exit code and its output."""
    try:
        with open(log, "w", encoding="utf-8") as file:
            code = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=False).returncode
    except (FileNotFoundError, PermissionError) as error:
        raise Failure(4, f"{command[0]} cannot be run: {error.strerror}.") from error
    with open(log, encoding="utf-8", errors="replace") as file:
        return code, file.read()


def last_lines(text, count=5):
    return "\n".join(text.strip().splitlines()[-count:])


def ranges_of(program, options, folder):
    """The ranges that `qkprof trace` with these options makes, in their order."""
    log = os.path.join(folder, "trace.log")
    code, output = run([program, "trace", *options], log)
    if code != 0:
        raise Failure(code if code in (2, 3, 4) else 4, f"qkprof trace failed: {last_lines(output)}")
    return re.findall(r"^# (\S+)$", output, re.MULTILINE)


def command_for(ncu, program, options, ranges, report, replay_mode="application"):
    includes = []
    for name in ranges:
        includes += ["--nvtx-include", f"qkprof@{name}/"]  # the slash: a push/pop range
    return [ncu, "--nvtx", *includes, "--replay-mode", replay_mode, "--clock-control", "none", "--cache-control", "none",
            "--metrics", ",".join(METRICS), "--force-overwrite", "--export", report, program, "trace", *options]


def trace(ncu, program, options, folder, replay_mode="application", say=lambda command: None):
    """Runs ncu on the ranges that the options of `qkprof trace` make; trace.ncu-rep and trace.csv in the folder.

    Returns the ranges and the path of the CSV.
    """
    os.makedirs(folder, exist_ok=True)
    ranges = ranges_of(program, options, folder)
    report = os.path.join(folder, "trace.ncu-rep")
    command = command_for(ncu, program, options, ranges, report, replay_mode)
    say(command)
    log = os.path.join(folder, "ncu.log")
    code, output = run(command, log)
    for sign, sentence in REFUSALS:
        if sign in output:
            raise Failure(4, sentence)
    if code != 0 or not os.path.exists(report):
        raise Failure(4, f"ncu ended with code {code}; the whole log is {log}:\n{last_lines(output)}")
    # Plain numbers in base units; every row says in which range its kernel ran.
    table = os.path.join(folder, "trace.csv")
    with open(table, "w", encoding="utf-8") as file:
        code = subprocess.run([ncu, "--import", report, "--csv", "--page", "raw", "--print-units", "base"], stdout=file,
                              check=False).returncode
    if code != 0:
        raise Failure(4, f"ncu could not read its own report {report} (code {code}).")
    return ranges, table


# --- what ncu wrote

SCALE = {"K": 1e3, "M": 1e6, "G": 1e9}


def number(text, unit):
    """The value in base units, None where the cell holds none. "1,024" is a thousand; so is 1.024 under "Kbyte"."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    prefix = re.fullmatch(r"([KMG])byte(/block)?", unit)
    return value * SCALE[prefix.group(1)] if prefix else value


def read_kernels(lines, source):
    """Each kernel of `ncu --csv --page raw` as (range, name, {metric: value}), in the order of their execution."""
    rows = list(csv.reader(line for line in lines if not line.startswith("==")))  # ==PROF== and ==WARNING==
    while rows and "Kernel Name" not in rows[0]:
        rows.pop(0)
    if len(rows) < 2:
        raise Failure(2, f"{source} is no table of `ncu --csv --page raw`: it has no row of titles with 'Kernel Name' and "
                         "row of units.")
    titles, units = rows[0], rows[1]
    range_columns = [i for i, title in enumerate(titles) if "Push/Pop_Range" in title]
    if not range_columns:
        raise Failure(2, f"{source} does not say in which NVTX range a kernel ran: ncu must be called with --nvtx.")
    missing = [metric for metric in METRICS if metric not in titles]
    if missing:
        raise Failure(2, f"{source} lacks {', '.join(missing)}: take it with scripts/ncu_trace.")
    kernels = []
    for row in rows[2:]:
        if len(row) != len(titles):
            raise Failure(2, f"{source}: a row has {len(row)} cells and there are {len(titles)} titles: it was cut off.")
        found = [re.search(r"\bqkprof\W+([\w.]+\.(?:cold|warm))\b", row[i]) for i in range_columns]
        names = [match.group(1) for match in found if match]
        if not names:
            raise Failure(2, f"{source}: kernel {row[titles.index('Kernel Name')]} ran in no range of qkprof.")
        values = {metric: number(row[titles.index(metric)], units[titles.index(metric)]) for metric in METRICS}
        kernels.append((names[0], row[titles.index("Kernel Name")], values))
    return kernels


def total(kernels, *metrics, combine=sum):
    values = [values[metric] for _, _, values in kernels for metric in metrics]
    return None if None in values else combine(values)


def counters_of(kernels):
    """The counters of one call, under the names that qkprof has for them."""
    return {
        "launches": len(kernels),
        "blocks": total(kernels, "launch__grid_size"),
        "registers": total(kernels, "launch__registers_per_thread", combine=max),
        "shared_bytes": total(kernels, "launch__shared_mem_per_block_dynamic", combine=max),
        # The bulk copy engine passes by the stage of the L1 that counts what warps ask for.
        "global_load_sectors": total(kernels, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
                                     "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum"),
        "global_store_sectors": total(kernels, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
                                      "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum"),
        "shared_wavefronts": total(kernels, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
                                   "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"),
        "bank_conflicts": total(kernels, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
                                "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"),
        "l2_read_sectors": total(kernels, "lts__t_sectors_srcunit_tex_op_read.sum"),
        "l2_write_sectors": total(kernels, "lts__t_sectors_srcunit_tex_op_write.sum"),
        "dram_read_bytes": total(kernels, "dram__bytes_read.sum"),
        "dram_write_bytes": total(kernels, "dram__bytes_write.sum"),
    }


def read_counters(path):
    """{range: counters} of the CSV file that `trace` made."""
    with open(path, encoding="utf-8", newline="") as file:
        kernels = read_kernels(file.read().splitlines(), path)
    by_range = {}
    for kernel in kernels:
        by_range.setdefault(kernel[0], []).append(kernel)
    return {name: counters_of(of_range) for name, of_range in by_range.items()}
