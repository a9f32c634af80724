#include "links.h"

#include "parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace qkprof::hlo {
namespace {

constexpr std::string_view between_names = "{}, \t\r\n%";

std::string without_comments(std::string_view value) {
    std::string text;
    for (std::size_t at = 0; at < value.size();) {
        const std::size_t start = std::min(value.find("/*", at), value.size());
        text += value.substr(at, start - at);
        const std::size_t end = value.find("*/", std::min(start + 2, value.size()));
        at = end == std::string_view::npos ? value.size() : end + 2;
    }
    return text;
}

// How many calls deep each computation goes, 0 where it calls nothing.
class Depths {
  public:
    Depths(const Module& module, const Scanner& scan)
        : module_(module), scan_(scan), depth_(module.computations.size(), unknown) {}

    void check() {
        for (std::size_t i = 0; i < module_.computations.size(); ++i) {
            visit(i, 0);
        }
    }

  private:
    static constexpr std::size_t unknown = nowhere;
    static constexpr std::size_t open = nowhere - 1;

    // It calls itself no deeper than what it refuses.
    std::size_t visit(std::size_t index, std::size_t line) {
        if (depth_[index] < open) {
            return depth_[index];
        }
        const std::string& name = module_.computations[index].name;
        if (depth_[index] == open) {
            scan_.fail_at(line, fmt::format("the computation {} calls itself through what it calls", name));
        }
        if (++visiting_ > deepest_calls) {
            scan_.fail_at(
                line, fmt::format("computations call each other deeper than {} levels: it is not read", deepest_calls));
        }
        depth_[index] = open;
        std::size_t depth = 0;
        std::size_t deepest = line;  // the line of the deepest call
        for (const Instruction& instruction : module_.computations[index].instructions) {
            for (const Called& called : instruction.called) {
                if (called.computation != nowhere) {
                    const std::size_t below = visit(called.computation, instruction.line) + 1;
                    deepest = below > depth ? instruction.line : deepest;
                    depth = std::max(depth, below);
                }
            }
        }
        --visiting_;
        if (depth > deepest_calls) {
            scan_.fail_at(deepest, fmt::format("computations call each other deeper than {} levels: it is not read",
                                               deepest_calls));
        }
        return depth_[index] = depth;
    }

    const Module& module_;
    const Scanner& scan_;
    std::vector<std::size_t> depth_;
    std::size_t visiting_ = 0;
};

}  // namespace

std::vector<std::string> names_in(std::string_view value) {
    const std::string text = without_comments(value);
    std::vector<std::string> names;
    for (std::size_t at = text.find_first_not_of(between_names); at != std::string::npos;
         at = text.find_first_not_of(between_names, at)) {
        const std::size_t end = std::min(text.find_first_of(between_names, at), text.size());
        names.push_back(text.substr(at, end - at));
        at = end;
    }
    return names;
}

void link(Module& module, const Scanner& scan) {
    std::unordered_map<std::string, std::size_t> places;
    module.entry = nowhere;
    for (std::size_t i = 0; i < module.computations.size(); ++i) {
        const Computation& computation = module.computations[i];
        const std::size_t line = computation.instructions.front().line;
        if (!places.emplace(computation.name, i).second) {
            scan.fail_at(line, fmt::format("the computation {} is defined a second time", computation.name));
        }
        if (computation.entry && module.entry != nowhere) {
            scan.fail_at(line, fmt::format("the computation {} is a second ENTRY", computation.name));
        }
        module.entry = computation.entry ? i : module.entry;
    }
    if (module.entry == nowhere) {
        scan.fail("no computation is marked ENTRY: the text is cut short, or only a part of a module");
    }
    for (Computation& computation : module.computations) {
        for (Instruction& instruction : computation.instructions) {
            for (Called& called : instruction.called) {
                const auto found = places.find(called.name);
                if (found == places.end() && !module.is_excerpt) {
                    scan.fail_at(instruction.line, fmt::format("{} calls {}, which the text does not define",
                                                               instruction.name, called.name));
                }
                called.computation = found == places.end() ? nowhere : found->second;
            }
        }
    }
    Depths(module, scan).check();
}

}  // namespace qkprof::hlo
