#include "opcodes.h"

#include <map>
#include <set>

namespace qkprof::hlo {
namespace {

using Names = std::set<std::string_view>;

const Names& free_names() {
    static const Names names = {
        "add-dependency",       "after-all", "bitcast", "constant", "domain", "get-tuple-element", "opt-barrier",
        "optimization-barrier", "parameter", "tuple"};
    return names;
}

const Names& kernel_names() {
    static const Names names = {"abs",
                                "acos",
                                "acosh",
                                "add",
                                "and",
                                "asin",
                                "asinh",
                                "atan2",
                                "atanh",
                                "batch-norm-grad",
                                "batch-norm-inference",
                                "batch-norm-training",
                                "bitcast-convert",
                                "broadcast",
                                "cbrt",
                                "ceil",
                                "clamp",
                                "clz",
                                "compare",
                                "complex",
                                "concatenate",
                                "convert",
                                "cos",
                                "cosh",
                                "cosine",
                                "count-leading-zeros",
                                "divide",
                                "dynamic-reshape",
                                "dynamic-slice",
                                "dynamic-update-slice",
                                "erf",
                                "exponential",
                                "exponential-minus-one",
                                "expm1",
                                "floor",
                                "gather",
                                "imag",
                                "iota",
                                "is-finite",
                                "log",
                                "log-plus-one",
                                "logistic",
                                "map",
                                "maximum",
                                "minimum",
                                "multiply",
                                "multiply-add",
                                "negate",
                                "not",
                                "or",
                                "pad",
                                "popcnt",
                                "power",
                                "real",
                                "reduce",
                                "reduce-precision",
                                "reduce-window",
                                "remainder",
                                "reshape",
                                "reverse",
                                "rng",
                                "rng-bit-generator",
                                "rng-get-and-update-state",
                                "round-nearest-afz",
                                "round-nearest-even",
                                "rsqrt",
                                "scan",
                                "scatter",
                                "select",
                                "select-and-scatter",
                                "shift-left",
                                "shift-right-arithmetic",
                                "shift-right-logical",
                                "sign",
                                "sin",
                                "sine",
                                "sinh",
                                "slice",
                                "sort",
                                "sqrt",
                                "stochastic-convert",
                                "subtract",
                                "tan",
                                "tanh",
                                "topk",
                                "transpose",
                                "xor"};
    return names;
}

const Names& collective_names() {
    static const Names names = {"all-gather",         "all-reduce",        "all-to-all",    "collective-broadcast",
                                "collective-permute", "ragged-all-to-all", "reduce-scatter"};
    return names;
}

const Names& control_names() {
    static const Names names = {"async", "call", "conditional", "while"};
    return names;
}

const Names& library_names() {
    static const Names names = {"cholesky",   "convolution",     "dot", "fft", "ragged-dot",
                                "scaled-dot", "triangular-solve"};
    return names;
}

const Names& transfer_names() {
    static const Names names = {"copy",
                                "infeed",
                                "outfeed",
                                "partition-id",
                                "recv",
                                "replica-id",
                                "send",
                                "get-dimension-size",
                                "set-dimension-size"};
    return names;
}

}  // namespace

std::string_view base_of(std::string_view opcode) {
    constexpr std::string_view start = "-start";
    return opcode.ends_with(start) ? opcode.substr(0, opcode.size() - start.size()) : opcode;
}

Opcode opcode_of(std::string_view opcode) {
    if (opcode.ends_with("-done") || opcode.ends_with("-update")) {
        return Opcode::completion;
    }
    const std::string_view base = base_of(opcode);
    static const std::map<Opcode, const Names&> all = {{Opcode::free, free_names()},
                                                       {Opcode::kernel, kernel_names()},
                                                       {Opcode::collective, collective_names()},
                                                       {Opcode::library, library_names()},
                                                       {Opcode::control, control_names()},
                                                       {Opcode::transfer, transfer_names()}};
    for (const auto& [kind, names] : all) {
        if (names.contains(base)) {
            return kind;
        }
    }
    return base == "fusion" ? Opcode::fusion : base == "custom-call" ? Opcode::custom_call : Opcode::unknown;
}

bool is_free(const Instruction& instruction) { return opcode_of(instruction.opcode) == Opcode::free; }

}  // namespace qkprof::hlo
