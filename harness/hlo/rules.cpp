#include "rules.h"

#include "backend_config.h"
#include "custom_calls.h"
#include "opcodes.h"
#include "slices.h"

#include <fmt/format.h>

#include <algorithm>

namespace qkprof::hlo {
namespace {

constexpr const char* library_reason = "the library chooses how many kernels it launches";

Verdict library(std::string_view who) {
    return {.kind = Class::library,
            .kernels = at_least_once,
            .transfers = unknown_times,
            .what = fmt::format("{} call", who),
            .reason = library_reason};
}

Verdict custom_call(const Instruction& instruction) {
    const std::string name = instruction.text("custom_call_target");
    const Target target = target_of(name);
    switch (target.kind) {
        case Target::Kind::annotation:
            return {.kind = Class::nothing, .what = "annotation"};
        case Target::Kind::one_kernel:
            return {.kind = Class::custom_call, .kernels = once, .what = fmt::format("{} kernel", target.who)};
        case Target::Kind::library:
            return library(target.who);
        case Target::Kind::foreign:
            break;
    }
    return {.kind = Class::custom_call,
            .kernels = unknown_times,
            .transfers = unknown_times,
            .what = "foreign function",
            .reason = "its code is not XLA's: the text does not say what it launches"};
}

Verdict collective(std::string_view opcode) {
    const bool by_copy = opcode == "collective-permute" || opcode == "all-to-all" || opcode == "ragged-all-to-all";
    return {.kind = Class::collective,
            .kernels = by_copy ? unknown_times : at_least_once,
            .transfers = unknown_times,
            .what = std::string(opcode),
            .reason = by_copy ? "NCCL's kernels, or copies between the devices"
                              : "NCCL chooses how many kernels it launches"};
}

// What stands in the body and launches by itself, where there is any such.
const Instruction* launching_in(const Computation& body) {
    const auto found = std::find_if(body.instructions.begin(), body.instructions.end(), [](const Instruction& i) {
        const Opcode opcode = opcode_of(i.opcode);
        return opcode == Opcode::custom_call || opcode == Opcode::collective;
    });
    return found == body.instructions.end() ? nullptr : &*found;
}

std::string fusion_name(const Fusion& fusion) {
    return fusion.backend.starts_with("__triton") ? "Triton fusion"
           : fusion.kind.empty()                  ? "fusion"
                                                  : fmt::format("{} fusion", fusion.kind);
}

Verdict fusion_verdict(const Module& module, const Instruction& instruction) {
    Verdict verdict = {.kind = Class::fusion, .kernels = once};
    verdict.fusion = fusion_of(module, instruction);
    const Fusion& fusion = *verdict.fusion;
    verdict.what = fusion_name(fusion);
    const Called* body = instruction.find_called("calls");
    const bool known = body != nullptr && body->computation != nowhere;
    const Instruction* launching = known ? launching_in(module.computations[body->computation]) : nullptr;
    if (fusion.backend.starts_with("__cudnn") || fusion.backend.starts_with("__cublas")) {
        Verdict found = library(fusion.backend.starts_with("__cudnn") ? "cuDNN" : "cuBLAS");
        found.fusion = fusion;
        return found;
    }
    if (launching != nullptr) {
        Verdict found = verdict_of(module, module.computations[body->computation], *launching);
        found.what = fmt::format("{} of a slice", found.what);
        found.fusion = fusion;
        return found;
    }
    if (fusion.is_copy || fusion.backend == "__dynamic_memcpy") {
        verdict.kind = Class::transfer;
        verdict.kernels = {};
        verdict.transfers = once;
        verdict.what = "copy of one stretch of memory";
        return verdict;
    }
    if (fusion.sorts) {
        verdict.kernels = at_least_once;
        verdict.transfers = {0, instruction.operands.size()};
        verdict.what = "sorting fusion";
        verdict.reason = "a sort is as many kernels as its length needs, after copies of what it sorts";
    }
    constexpr const char* data_movement[] = {"broadcast", "concatenate", "copy",     "pad",
                                             "reverse",   "slice",       "transpose"};
    verdict.blocked = fusion.operation_count() == 1 &&
                      std::find(std::begin(data_movement), std::end(data_movement), fusion.operations.begin()->first) !=
                          std::end(data_movement);
    return verdict;
}

Verdict copy(const Computation& in, const Instruction& instruction) {
    Verdict verdict = {.kind = Class::transfer, .transfers = once, .what = "copy"};
    const Shape& to =
        *(instruction.opcode == "copy-start" && !instruction.shape.parts.empty() ? &instruction.shape.parts.front()
                                                                                 : &instruction.shape);
    const Shape& from = instruction.operands.empty() ? to : in.instructions[instruction.operands.front()].shape;
    if (to.is_array() && !same_layout(to, from)) {
        verdict.kind = Class::unfused;
        verdict.kernels = once;
        verdict.transfers = {};
        verdict.what = "copy to another layout";
        verdict.blocked = verdict.layout_copy = true;
    } else if (to.on_host != from.on_host) {
        verdict.what = to.on_host ? "copy to the host" : "copy from the host";
    }
    return verdict;
}

Verdict transfer(const Computation& in, const Instruction& instruction) {
    const std::string_view base = base_of(instruction.opcode);
    if (base == "copy") {
        return copy(in, instruction);
    }
    if (base == "partition-id" || base == "replica-id") {
        return {.kind = Class::transfer, .transfers = once, .what = "fill"};
    }
    return {.kind = Class::transfer,
            .kernels = unknown_times,
            .transfers = unknown_times,
            .what = std::string(base),
            .reason = "how it is carried out is not in the text"};
}

Verdict control(const Instruction& instruction) {
    Verdict verdict = {.kind = Class::control, .what = instruction.opcode};
    if (instruction.opcode == "conditional") {
        verdict.transfers = {0, 1};
        verdict.reason = "which branch it takes is known at run time; the host may copy the choice from the device";
    }
    if (instruction.opcode == "while") {
        const auto turns = known_trip_count(instruction);
        verdict.transfers = turns ? Count{} : unknown_times;
        verdict.what = turns ? fmt::format("while, {} turns", *turns) : "while";
        const std::string refused = refused_trip_count(instruction);
        const std::string why = refused.empty()
                                    ? "the text does not say how often it turns"
                                    : fmt::format("its known_trip_count, {}, is no count of turns", refused);
        verdict.reason = turns ? "" : fmt::format("{}; the host may copy its condition each turn", why);
    }
    const Called* called = instruction.opcode == "call" ? instruction.find_called("to_apply") : nullptr;
    if (called != nullptr && called->name.starts_with("command_buffer")) {
        verdict.what = "command buffer: one submission of all it holds";
    }
    const bool missing = std::any_of(instruction.called.begin(), instruction.called.end(),
                                     [](const Called& c) { return c.computation == nowhere; });
    if (missing) {
        verdict.kernels = verdict.transfers = unknown_times;
        verdict.reason = "the excerpt does not hold what it runs";
    }
    return verdict;
}

Verdict kernel(const Instruction& instruction) {
    Verdict verdict = {.kind = Class::unfused, .kernels = once, .what = instruction.opcode, .blocked = true};
    if (instruction.opcode == "sort") {
        verdict.kernels = at_least_once;
        verdict.transfers = {0, instruction.operands.size()};
        verdict.reason = "a sort is as many kernels as its length needs, after copies of what it sorts";
    }
    if (instruction.opcode == "scatter" || instruction.opcode == "dynamic-update-slice" ||
        instruction.opcode == "select-and-scatter") {
        verdict.transfers = {0, 1};
        verdict.reason = "what it updates is copied before where it must stay as it was";
    }
    if (instruction.opcode == "reshape") {
        verdict.kernels = verdict.transfers = {0, 1};
        verdict.reason = "a reshape that moves nothing launches nothing";
    }
    return verdict;
}

}  // namespace

const char* name_of(Class kind) {
    switch (kind) {
        case Class::fusion:
            return "fusion";
        case Class::custom_call:
            return "custom call";
        case Class::library:
            return "library";
        case Class::unfused:
            return "not fused";
        case Class::transfer:
            return "transfer";
        case Class::collective:
            return "collective";
        case Class::control:
            return "control";
        case Class::nothing:
            return "nothing";
    }
    return "";
}

const char* key_of(Class kind) {
    switch (kind) {
        case Class::fusion:
            return "fusions";
        case Class::custom_call:
            return "custom_calls";
        case Class::library:
            return "libraries";
        case Class::unfused:
            return "unfused";
        case Class::transfer:
            return "transfers";
        case Class::collective:
            return "collectives";
        case Class::control:
            return "control";
        case Class::nothing:
            return "nothing";
    }
    return "";
}

Verdict verdict_of(const Module& module, const Computation& in, const Instruction& instruction) {
    switch (opcode_of(instruction.opcode)) {
        case Opcode::free:
        case Opcode::completion:
            return {.kind = Class::nothing, .what = instruction.opcode};
        case Opcode::kernel:
            return kernel(instruction);
        case Opcode::collective:
            return collective(base_of(instruction.opcode));
        case Opcode::library:
            return library(instruction.opcode);
        case Opcode::transfer:
            return transfer(in, instruction);
        case Opcode::control:
            return control(instruction);
        case Opcode::fusion:
            return fusion_verdict(module, instruction);
        case Opcode::custom_call:
            return custom_call(instruction);
        case Opcode::unknown:
            break;
    }
    return {.kind = Class::unfused,
            .kernels = unknown_times,
            .transfers = unknown_times,
            .what = instruction.opcode,
            .reason = "an operation that this qkprof does not know",
            .blocked = true};
}

}  // namespace qkprof::hlo
