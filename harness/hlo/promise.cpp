#include "promise.h"

#include "backend_config.h"
#include "custom_calls.h"
#include "error.h"
#include "ideal.h"
#include "opcodes.h"

#include <fmt/format.h>

#include <algorithm>

namespace qkprof::hlo {
namespace {

// What is launched within a computation.
struct Launched {
    std::map<Class, ClassTotal> classes;
    Count kernels;
    Count transfers;
    Count bytes;
};

// One or the other is.
Launched either(const Launched& a, const Launched& b) {
    Launched all;
    const auto of = [](const Launched& from, Class kind) {
        const auto found = from.classes.find(kind);
        return found == from.classes.end() ? ClassTotal() : found->second;
    };
    for (const Class kind : all_classes) {
        all.classes[kind] = {.instructions = of(a, kind).instructions + of(b, kind).instructions,
                             .kernels = either(of(a, kind).kernels, of(b, kind).kernels),
                             .transfers = either(of(a, kind).transfers, of(b, kind).transfers)};
    }
    all.kernels = either(a.kernels, b.kernels);
    all.transfers = either(a.transfers, b.transfers);
    all.bytes = either(a.bytes, b.bytes);
    return all;
}

void add(const Launched& more, Launched& all) {
    for (const auto& [kind, total] : more.classes) {
        ClassTotal& sum = all.classes[kind];
        sum = {.instructions = sum.instructions + total.instructions,
               .kernels = sum.kernels + total.kernels,
               .transfers = sum.transfers + total.transfers};
    }
    all.kernels = all.kernels + more.kernels;
    all.transfers = all.transfers + more.transfers;
    all.bytes = all.bytes + more.bytes;
}

// A call's role in the path.
std::string step(const Instruction& by, const std::string& role) {
    return role.empty() ? by.name : fmt::format("{} {}", by.name, role);
}

class Walk {
  public:
    explicit Walk(Promise& promise) : promise_(promise), module_(*promise.module) {}

    // At most deepest_calls deep.
    Launched computation(std::size_t index, const Count& executions, const std::string& path, std::size_t depth) {
        const Computation& computation = module_.computations[index];
        Launched all;
        for (const Instruction& instruction : computation.instructions) {
            if (promise_.rows.size() == most_rows) {
                throw InputError(fmt::format("The module {} executes more than {} instructions: it is not followed.",
                                             module_.name, most_rows));
            }
            Row& row = promise_.rows.emplace_back();
            row.instruction = &instruction;
            row.in = &computation;
            row.path = path;
            row.depth = depth;
            row.executions = executions;
            row.verdict = verdict_of(module_, computation, instruction);
            add(launched(row), all);
            if (row.verdict.kind == Class::control) {
                add(called(instruction, executions, path, depth + 1), all);
            }
        }
        return all;
    }

  private:
    Launched launched(Row& row) {
        const Class kind = row.verdict.kind;
        Launched own;
        own.kernels = row.kernels();
        own.transfers = row.transfers();
        own.classes[kind] = {1, own.kernels, own.transfers};
        if (kind == Class::control || kind == Class::nothing) {
            return own;
        }
        row.traffic = traffic_of(module_, *row.in, *row.instruction);
        const auto bytes = row.traffic.total();
        promise_.bytes_complete = promise_.bytes_complete && bytes.has_value();
        const auto moved = static_cast<std::uint64_t>(bytes.value_or(0));
        own.bytes = row.executions * Count{moved, moved};
        return own;
    }

    Launched run(const Called& called, const Instruction& by, const Count& executions, const std::string& path,
                 std::size_t depth, const std::string& role) {
        if (called.computation == nowhere) {
            return {};
        }
        return computation(called.computation, executions, path.empty() ? step(by, role) : path + ", " + step(by, role),
                           depth);
    }

    Launched called(const Instruction& instruction, const Count& executions, const std::string& path,
                    std::size_t depth) {
        if (instruction.opcode == "while") {
            return turns(instruction, executions, path, depth);
        }
        if (instruction.opcode == "conditional") {
            return branches(instruction, executions, path, depth);
        }
        Launched all;
        for (const Called& one : instruction.called) {
            if (one.role == "to_apply" || one.role == "calls" || one.role == "called_computations") {
                add(run(one, instruction, executions, path, depth, ""), all);
            }
        }
        return all;
    }

    // Where the host knows how often, it asks the condition not at all; otherwise once more than it turns.
    Launched turns(const Instruction& instruction, const Count& executions, const std::string& path,
                   std::size_t depth) {
        const auto known = known_trip_count(instruction);
        const auto n = static_cast<std::uint64_t>(known.value_or(0));
        Launched all;
        if (const Called* condition = instruction.find_called("condition")) {
            const Count asked = known ? Count{0, n + 1} : at_least_once;
            all = run(*condition, instruction, executions * asked, path, depth, "condition");
        }
        if (const Called* body = instruction.find_called("body")) {
            const Count turned = known ? Count{n, n} : unknown_times;
            add(run(*body, instruction, executions * turned, path, depth, "body"), all);
        }
        return all;
    }

    Launched branches(const Instruction& instruction, const Count& executions, const std::string& path,
                      std::size_t depth) {
        Launched all;
        bool first = true;
        for (const Called& branch : instruction.called) {
            const std::size_t start = promise_.rows.size();
            const Launched one = run(branch, instruction, executions, path, depth, branch.name);
            for (std::size_t i = start; i < promise_.rows.size(); ++i) {
                promise_.rows[i].executions.least = 0;
            }
            all = first ? one : either(all, one);
            first = false;
        }
        return all;
    }

    Promise& promise_;
    const Module& module_;
};

// By what only one of XLA's backends leaves in the text.
Platform platform_of(const Module& module) {
    for (const Computation& computation : module.computations) {
        for (const Instruction& instruction : computation.instructions) {
            const std::string_view config = instruction.attribute("backend_config");
            const std::string_view target = instruction.attribute("custom_call_target");
            const auto holds = [&](std::string_view word) { return config.find(word) != std::string_view::npos; };
            if (holds("outer_dimension_partitions") || target.find("__onednn$") != std::string_view::npos ||
                computation.name.starts_with("parallel_")) {
                return Platform::cpu;
            }
            if (holds("operation_queue_id") || holds("fusion_backend_config") || holds("__triton") ||
                holds("wait_on_operation_queues") || target.find("__cu") == 1) {
                return Platform::gpu;
            }
            const Target::Kind kind =
                target.size() > 2 ? target_of(instruction.text("custom_call_target")).kind : Target::Kind::foreign;
            if (kind == Target::Kind::one_kernel) {
                return Platform::gpu;
            }
        }
    }
    return Platform::unknown;
}

}  // namespace

Promise promise_of(const Module& module) {
    Promise promise;
    promise.module = &module;
    const Launched all = Walk(promise).computation(module.entry, once, {}, 0);
    promise.classes = all.classes;
    for (const Class kind : all_classes) {
        promise.classes[kind];
    }
    promise.kernels = all.kernels;
    promise.transfers = all.transfers;
    promise.bytes = all.bytes;
    promise.platform = platform_of(module);
    promise.ideal_bytes = ideal_bytes(promise);
    promise.intermediates = intermediates(promise);
    return promise;
}

}  // namespace qkprof::hlo
