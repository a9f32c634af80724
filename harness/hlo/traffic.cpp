#include "traffic.h"

#include "opcodes.h"

#include <algorithm>
#include <limits>

namespace qkprof::hlo {
namespace {

using Bytes = std::optional<std::int64_t>;

Bytes sum(Bytes a, Bytes b) {
    return a && b && *a <= std::numeric_limits<std::int64_t>::max() - *b ? Bytes(*a + *b) : Bytes();
}

Bytes smaller(Bytes a, Bytes b) { return a && b ? Bytes(std::min(*a, *b)) : a ? a : b; }

bool takes_part(const Instruction& user) {
    return user.opcode == "slice" || user.opcode == "dynamic-slice" || user.opcode == "gather";
}

// What the first operand is updated with, where the rest of it stays in place; none: it is no such operation.
const Instruction* update_of(const Computation& in, const Instruction& user) {
    constexpr std::size_t update = 1;
    constexpr std::size_t scattered = 2;
    if (user.opcode == "dynamic-update-slice" && user.operands.size() > update) {
        return &in.instructions[user.operands[update]];
    }
    if (user.opcode == "scatter" && user.operands.size() == scattered + 1) {  // of one array
        return &in.instructions[user.operands[scattered]];
    }
    return nullptr;
}

// What one instruction reads of its first operand, or of another.
Bytes read_of(const Computation& in, const Instruction& user, std::size_t number) {
    const Bytes whole = bytes_of(in.instructions[user.operands[number]].shape);
    if (number > 0) {
        return whole;
    }
    if (takes_part(user)) {
        return smaller(bytes_of(user.shape), whole);
    }
    if (const Instruction* update = update_of(in, user)) {
        return user.opcode == "scatter" ? smaller(bytes_of(update->shape), whole) : Bytes(0);
    }
    return whole;
}

// What all of a body reads of each of its instructions' values, and so of its parameters.
class Reads {
  public:
    explicit Reads(const Computation& body) : read_(body.instructions.size(), 0) {
        // From the users to what they use: each stands behind it.
        for (std::size_t i = body.instructions.size(); i-- > 0;) {
            const Instruction& user = body.instructions[i];
            for (std::size_t number = 0; number < user.operands.size(); ++number) {
                const std::size_t operand = user.operands[number];
                const Bytes bytes = user.opcode == "bitcast" ? read_[i] : read_of(body, user, number);
                read_[operand] = smaller(sum(read_[operand], bytes), bytes_of(body.instructions[operand].shape));
            }
        }
    }
    Bytes of(std::size_t instruction) const { return read_[instruction]; }

  private:
    std::vector<Bytes> read_;
};

Bytes written_by(const Computation& in, const Instruction& value) {
    if (const Instruction* update = update_of(in, value)) {
        return smaller(bytes_of(update->shape), bytes_of(value.shape));
    }
    if (value.opcode == "bitcast" && !value.operands.empty()) {
        const Instruction& from = in.instructions[value.operands.front()];
        return update_of(in, from) != nullptr ? written_by(in, from) : bytes_of(value.shape);
    }
    return bytes_of(value.shape);
}

Traffic fusion_traffic(const Computation& body, const Instruction& instruction) {
    Traffic traffic;
    traffic.operands.resize(instruction.operands.size());
    const Reads reads(body);
    for (std::size_t i = 0; i < body.instructions.size(); ++i) {
        const Instruction& parameter = body.instructions[i];
        if (parameter.opcode != "parameter") {
            continue;
        }
        const std::string& number = parameter.literal;
        const bool digits =
            !number.empty() && number.size() < 9 && number.find_first_not_of("0123456789") == std::string::npos;
        const std::size_t place = digits ? std::stoul(number) : instruction.operands.size();
        if (place < traffic.operands.size()) {
            traffic.operands[place] = reads.of(i);
        }
    }
    const Instruction& root = body.instructions[body.root];
    if (root.opcode != "tuple") {
        traffic.written = written_by(body, root);
        return traffic;
    }
    traffic.written = 0;
    for (const std::size_t part : root.operands) {
        traffic.written = sum(traffic.written, written_by(body, body.instructions[part]));
    }
    return traffic;
}

bool is_working_memory(const Shape& shape) {
    return (shape.element == "s8" || shape.element == "u8") && shape.extents.size() == 1;
}

}  // namespace

Bytes Traffic::read() const {
    Bytes all = 0;
    for (const Bytes& operand : operands) {
        all = sum(all, operand);
    }
    return all;
}

Bytes Traffic::total() const { return sum(read(), written); }

std::vector<const Shape*> results_of(const Instruction& instruction) {
    const std::vector<Shape>& parts = instruction.shape.parts;
    if (instruction.opcode.ends_with("-start") && instruction.opcode != "all-reduce-start" && parts.size() > 1) {
        return {&parts[1]};
    }
    if (instruction.opcode == "custom-call" && parts.size() > 1 && is_working_memory(parts.back()) &&
        instruction.text("custom_call_target").starts_with("__cu")) {
        std::vector<const Shape*> results;
        for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
            results.push_back(&parts[i]);
        }
        return results;
    }
    return {&instruction.shape};
}

Traffic traffic_of(const Module& module, const Computation& in, const Instruction& instruction) {
    const Called* body = instruction.find_called("calls");
    const bool fusion = opcode_of(instruction.opcode) == Opcode::fusion;
    if (fusion && body != nullptr && body->computation != nowhere) {
        return fusion_traffic(module.computations[body->computation], instruction);
    }
    Traffic traffic;
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
        traffic.operands.push_back(read_of(in, instruction, i));
    }
    if (const Instruction* update = update_of(in, instruction)) {
        traffic.written = bytes_of(update->shape);
        return traffic;
    }
    traffic.written = 0;
    for (const Shape* result : results_of(instruction)) {
        traffic.written = sum(traffic.written, bytes_of(*result));
    }
    return traffic;
}

}  // namespace qkprof::hlo
