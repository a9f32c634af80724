#include "before.h"

#include "opcodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace qkprof::hlo {
namespace {

// A computation that two instructions run is one text.
std::set<const Instruction*> instructions_of(const Promise& promise) {
    std::set<const Instruction*> all;
    for (const Row& row : promise.rows) {
        if (row.verdict.kind != Class::nothing && row.verdict.kind != Class::control) {
            all.insert(row.instruction);
        }
    }
    return all;
}

std::string list_text(const Operations& operations) {
    std::vector<std::pair<std::string, std::size_t>> sorted(operations.begin(), operations.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::vector<std::string> parts;
    for (const auto& [name, count] : sorted) {
        parts.push_back(fmt::format("{} {}", count, name));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string counted(std::size_t count, const char* one, const char* many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

}  // namespace

std::size_t total(const Operations& operations) {
    return std::accumulate(operations.begin(), operations.end(), std::size_t{0},
                           [](std::size_t sum, const auto& item) { return sum + item.second; });
}

BeforeAndAfter compare(const Promise& before, const Promise& after) {
    BeforeAndAfter all;
    for (const Instruction* instruction : instructions_of(before)) {
        ++all.before[instruction->opcode];
    }
    std::set<const Instruction*> seen;
    for (const Row& row : after.rows) {
        const Class kind = row.verdict.kind;
        if (kind == Class::nothing || kind == Class::control || !seen.insert(row.instruction).second) {
            continue;
        }
        if (!row.verdict.fusion) {
            ++all.outside[row.instruction->opcode];
            continue;
        }
        ++all.fusions;
        for (const auto& [name, count] : row.verdict.fusion->operations) {
            all.fused[name] += count;
        }
        const std::size_t held = row.verdict.fusion->operation_count();
        all.joined += held > 1 ? held : 0;
    }
    const std::size_t left = total(all.fused) + total(all.outside);
    all.fused_little = left > 0 && 2 * all.joined < left;
    return all;
}

std::vector<std::string> sentences_of(const BeforeAndAfter& compared) {
    std::vector<std::string> all;
    all.push_back(fmt::format("Before optimisation: {}: {}.",
                              counted(total(compared.before), "operation", "operations"), list_text(compared.before)));
    const std::string fused = compared.fused.empty() ? "" : fmt::format(": {}", list_text(compared.fused));
    all.push_back(fmt::format("After it: {} in {}{}.", counted(total(compared.fused), "operation", "operations"),
                              counted(compared.fusions, "fusion", "fusions"), fused));
    all.push_back(
        compared.outside.empty()
            ? "None is left outside of fusions."
            : fmt::format("Outside of fusions {} left: {}.",
                          total(compared.outside) == 1 ? "is 1" : fmt::format("are {}", total(compared.outside)),
                          list_text(compared.outside)));
    if (compared.fused_little) {
        all.push_back(
            fmt::format("It looks the same: XLA fused little. Of {} after optimisation {} in fusions of two or "
                        "more, fewer than half.",
                        counted(total(compared.fused) + total(compared.outside), "operation", "operations"),
                        compared.joined == 1 ? "1 is" : fmt::format("{} are", compared.joined)));
    }
    return all;
}

}  // namespace qkprof::hlo
