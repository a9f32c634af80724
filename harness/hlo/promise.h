// What a module promises to launch, each time it is executed on one device.
#pragma once

#include "rules.h"
#include "traffic.h"

#include <map>
#include <string>
#include <vector>

namespace qkprof::hlo {

inline constexpr std::size_t most_rows = std::size_t{1} << 18U;

// An instruction, in the order of execution. What a computation holds stands behind the instruction that runs it.
struct Row {
    const Instruction* instruction = nullptr;  // of the module, which must outlive the promise
    const Computation* in = nullptr;
    std::string path;  // the instructions that run it, "while.5 body"; empty in the entry computation
    std::size_t depth = 0;
    Count executions;  // of the instruction
    Verdict verdict;   // of one execution
    Traffic traffic;   // of one execution; empty for what is control or nothing

    Count kernels() const { return executions * verdict.kernels; }
    Count transfers() const { return executions * verdict.transfers; }
};

struct ClassTotal {
    std::size_t instructions = 0;
    Count kernels;
    Count transfers;
};

// A value that one instruction writes and others read.
struct Intermediate {
    const Row* row = nullptr;
    std::int64_t bytes = 0;
};

enum class Platform : std::uint8_t { unknown, cpu, gpu };

struct Promise {
    const Module* module = nullptr;
    std::vector<Row> rows;
    std::map<Class, ClassTotal> classes;  // each; between branches that exclude each other the least and the most
    Count kernels;                        // of all
    Count transfers;
    Count bytes;                              // moved through memory by what launches
    bool bytes_complete = true;               // false: some shape is unknown, and not counted
    std::optional<std::int64_t> ideal_bytes;  // a single fusion's: what is used of the parameters, and the results
    std::vector<Intermediate> intermediates;  // the largest first
    Platform platform = Platform::unknown;
};

// Throws InputError where the computations hold more than most_rows instructions, each counted where it is run.
Promise promise_of(const Module& module);

}  // namespace qkprof::hlo
