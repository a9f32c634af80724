#include "annotations.h"

#include "compare_table.h"

#include <fmt/format.h>

#include <string_view>

namespace qkprof {
namespace {

// As the runner reads it back: what would end a message, or begin another, stands as its code.
std::string escaped(std::string_view text, std::string_view special) {
    std::string all;
    for (const char c : text) {
        all += special.find(c) == std::string_view::npos ? std::string(1, c)
                                                         : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return all;
}

std::string annotation(const char* kind, const std::string& title, const std::string& message) {
    return fmt::format("::{} title={}::{}", kind, escaped(title, "%\r\n:,"), escaped(message, "%\r\n"));
}

void append(std::vector<std::string>& lines, const char* kind, std::vector<std::string> more) {
    constexpr std::size_t most = 10;
    if (more.size() > most) {
        const std::size_t left_out = more.size() - (most - 1);
        more.resize(most - 1);
        more.push_back(annotation(kind, "qkprof compare",
                                  fmt::format("And {} more, which the output of this step holds.", left_out)));
    }
    lines.insert(lines.end(), more.begin(), more.end());
}

}  // namespace

std::vector<std::string> annotations(const Comparison& comparison) {
    std::vector<std::string> errors;
    std::vector<std::string> warnings;
    for (const Difference& cell : comparison.differences) {
        if (cell.standing == Standing::worse) {
            errors.push_back(annotation("error", "qkprof: worse", sentence_of(cell)));
        }
    }
    for (const Standing standing : standings) {
        if (!undecided(standing)) {
            continue;
        }
        for (const Alike& alike : by_reason(comparison, standing)) {
            std::string message = sentence_of(*alike.cells.front());
            if (alike.cells.size() > 1) {
                message += fmt::format(" {} more alike.", alike.cells.size() - 1);
            }
            warnings.push_back(annotation("warning", fmt::format("qkprof: {}", name_of(standing)), message));
        }
    }
    std::vector<std::string> lines;
    append(lines, "error", std::move(errors));
    append(lines, "warning", std::move(warnings));
    return lines;
}

}  // namespace qkprof
