#include "scope.h"

#include "kernel_names.h"

#include <algorithm>

namespace qkprof::hlo {
namespace {

using exec::RangeRow;

void add(const exec::Work& work, Scope& scope) {
    for (const exec::KernelRow& kernel : work.kernels) {
        scope.kernels[kernel.name] += kernel.count;
        for (const exec::LaunchForm& form : kernel.forms) {
            scope.devices.insert(form.device);
        }
    }
    scope.transfers += work.transfers;
}

// The module that XLA's ranges around it, or it itself, name; empty where none does.
std::string module_of(const RangeRow& range) {
    std::string module = annotated(range.name, "hlo_module");
    for (const std::string& outer : range.inside) {
        const std::string named = annotated(outer, "hlo_module");
        module = named.empty() ? module : named;
    }
    return module;
}

std::string instruction_of(const RangeRow& range) {
    if (range.name.find("Thunk:#") == std::string::npos) {
        return {};
    }
    std::string name = annotated(range.name, "hlo_op");
    if (name.empty()) {
        name = annotated(range.name, "name");
    }
    return name.starts_with("%") ? name.substr(1) : name;
}

bool is_module_range(const RangeRow& range) { return range.name.find("XlaModule:#") != std::string::npos; }

bool is_within(const RangeRow& range, const std::vector<const RangeRow*>& outer) {
    return std::any_of(outer.begin(), outer.end(), [&](const RangeRow* one) {
        const std::string text = text_of(*one);
        return one == &range || std::find(range.inside.begin(), range.inside.end(), text) != range.inside.end();
    });
}

}  // namespace

Scope scope_of(const Module& module, const exec::ExecProfile& profile, const std::vector<const RangeRow*>& ranges) {
    Scope scope;
    std::vector<const RangeRow*> chosen = ranges;
    if (chosen.empty() && !module.name.empty()) {
        for (const RangeRow& range : profile.ranges) {
            if (!is_module_range(range)) {
                continue;
            }
            const std::string name = annotated(range.name, "hlo_module");
            if (name == module.name) {
                chosen.push_back(&range);
            } else if (!name.empty()) {
                scope.other_modules.insert(name);
            }
        }
        scope.of_module = !chosen.empty();
        if (chosen.empty() && !scope.other_modules.empty()) {
            return scope;  // what ran is theirs, also where a kernel has the name of one of this module's
        }
        scope.other_modules.clear();
    }
    for (const RangeRow* range : chosen) {
        const bool nested = std::any_of(chosen.begin(), chosen.end(), [&](const RangeRow* other) {
            return other != range && is_within(*range, {other}) && text_of(*other) != text_of(*range);
        });
        if (!nested) {  // else it is counted with the one that it is in
            add(range->work, scope);
            scope.calls += range->calls;
        }
    }
    if (chosen.empty()) {
        add(profile.work, scope);
    }
    for (const RangeRow& range : profile.ranges) {
        const std::string instruction = instruction_of(range);
        const std::string of = instruction.empty() ? std::string() : module_of(range);
        const bool ours = of.empty() || module.name.empty() || of == module.name;
        if (instruction.empty() || !ours || (!chosen.empty() && !is_within(range, chosen))) {
            continue;
        }
        scope.transfers_by_instruction[instruction] += range.work.transfers;
        Launches& launches = scope.by_instruction[instruction];
        for (const exec::KernelRow& kernel : range.work.kernels) {
            launches[kernel.name] += kernel.count;
        }
    }
    return scope;
}

}  // namespace qkprof::hlo
