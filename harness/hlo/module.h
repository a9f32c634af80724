// A program in HLO text: computations of instructions. Read by parse_module (parser.h).
#pragma once

#include "shape.h"

#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qkprof::hlo {

inline constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

// A computation that an instruction names.
struct Called {
    std::string role;  // the attribute: "calls", "body", "condition", "to_apply" ...
    std::string name;
    std::size_t computation = nowhere;  // in the module; nowhere: an excerpt does not hold it
};

struct Instruction {
    std::string name;
    std::string opcode;
    Shape shape;
    std::vector<std::size_t> operands;                            // earlier instructions of the same computation
    std::string literal;                                          // of a constant; the number of a parameter
    std::vector<std::pair<std::string, std::string>> attributes;  // as written, without metadata
    std::vector<Called> called;
    std::string op_name;  // of the metadata: what the framework called it
    std::size_t line = 0;

    // Empty where there is none.
    std::string_view attribute(std::string_view key) const;
    // Without the quotes of text.
    std::string text(std::string_view key) const;
    const Called* find_called(std::string_view role) const;
};

struct Computation {
    std::string name;
    bool entry = false;
    std::vector<Instruction> instructions;
    std::size_t root = 0;
};

struct Module {
    std::string name;         // empty for an excerpt
    bool is_excerpt = false;  // it does not begin with HloModule: what it names may be missing
    std::map<std::string, std::string, std::less<>> attributes;
    std::vector<Computation> computations;
    std::size_t entry = 0;

    const Computation& entry_computation() const { return computations[entry]; }
    // 1 where the text says nothing.
    std::int64_t partitions() const;
    std::int64_t replicas() const;
};

}  // namespace qkprof::hlo
