#include "kernel_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>

namespace qkprof::hlo {
namespace {

// Of one instruction, without its name and its operands' names.
std::string signature(const Instruction& instruction) {
    std::string text = fmt::format("{} {} {}(", text_of(instruction.shape), instruction.opcode, instruction.literal);
    for (const std::int64_t dimension : order_of(instruction.shape)) {
        text += fmt::format("{},", dimension);
    }
    for (const std::size_t operand : instruction.operands) {
        text += fmt::format("#{}", operand);
    }
    for (const auto& [key, value] : instruction.attributes) {
        if (key != "calls" && key != "to_apply" && key != "frontend_attributes" && key != "control-predecessors") {
            text += fmt::format(" {}={}", key, value);
        }
    }
    return text + ")\n";
}

// With what it calls, at most deepest_calls deep; what exceeds `longest` is cut, and then equals nothing else.
void add(const Module& module, const Instruction& instruction, std::string& text) {
    constexpr std::size_t longest = std::size_t{1} << 16U;
    text += signature(instruction);
    for (const Called& called : instruction.called) {
        if (called.computation == nowhere || text.size() > longest) {
            text += fmt::format("{} of line {}\n", called.name, instruction.line);
            continue;
        }
        for (const Instruction& inner : module.computations[called.computation].instructions) {
            add(module, inner, text);
        }
    }
}

}  // namespace

std::string kernel_name(std::string_view instruction) {
    std::string name(instruction);
    std::replace_if(
        name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return name;
}

std::string plain_kernel_name(std::string_view kernel) {
    kernel = kernel.substr(0, kernel.find_first_of("(<"));
    kernel.remove_prefix(kernel.starts_with("void ") ? 5 : 0);
    const std::size_t end = kernel.find_last_not_of("0123456789");
    if (end != std::string_view::npos && end + 1 < kernel.size() && end > 1 && kernel[end] == '_' &&
        kernel[end - 1] == '_') {
        kernel = kernel.substr(0, end - 1);
    }
    return std::string(kernel);
}

std::vector<std::string> kernel_names(const Module& module, const Row& row) {
    std::vector<std::string> names = {kernel_name(row.instruction->name)};
    const Called* body = row.instruction->find_called("calls");
    if (row.verdict.fusion && row.verdict.fusion->sorts && body != nullptr && body->computation != nowhere) {
        for (const Instruction& inner : module.computations[body->computation].instructions) {
            if (inner.opcode == "sort") {
                names.push_back(kernel_name(inner.name));
            }
        }
    }
    return names;
}

std::string fingerprint(const Module& module, const Instruction& instruction) {
    Instruction alone = instruction;
    alone.operands.clear();
    std::string text;
    add(module, alone, text);
    return fmt::format("{} {}", std::hash<std::string>()(text), text.size());
}

std::string annotated(std::string_view range, std::string_view key) {
    const std::size_t start = range.find('#');
    if (start == std::string_view::npos) {
        return {};
    }
    std::string_view inside = range.substr(start + 1);
    inside = inside.substr(0, inside.find_last_of('#'));
    while (!inside.empty()) {
        const std::size_t end = std::min(inside.find(','), inside.size());
        const std::string_view item = inside.substr(0, end);
        const std::size_t sign = item.find('=');
        if (sign != std::string_view::npos && item.substr(0, sign) == key) {
            return std::string(item.substr(sign + 1));
        }
        inside.remove_prefix(std::min(end + 1, inside.size()));
    }
    return {};
}

}  // namespace qkprof::hlo
