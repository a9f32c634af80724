#include "trace.h"

#include "names.h"

#include <fmt/format.h>

#include <set>

namespace qkprof {
namespace {

void check_ranges_are_unique(const Plan& plan) {
    if (plan.problems.size() != 1) {
        std::vector<std::string> problems;
        for (const Problem& problem : plan.problems) {
            problems.push_back(text_of(problem));
        }
        throw InputError(
            fmt::format("A trace holds one problem, as its ranges are named <variant>.<state>, and these are {}: {}. "
                        "Trace them one by one.",
                        problems.size(), joined(problems)));
    }
    std::set<const Variant*> seen;
    for (const Candidate& candidate : plan.candidates) {
        if (!seen.insert(candidate.variant).second) {
            throw InputError(
                fmt::format("A trace holds each variant once, as its ranges are named <variant>.<state>, and {} is "
                            "there with several values of a parameter: sweep one value at a time.",
                            candidate.variant->name));
        }
    }
}

}  // namespace

Traced trace(Device& device, const Plan& plan) {
    check_ranges_are_unique(plan);
    check_memory(device, plan);
    const Problem& problem = plan.problems.front();
    const auto workload = device.load(problem, scratch_bytes(plan, problem, device));
    Traced traced;
    for (const Candidate& candidate : plan.candidates) {
        const Variant& variant = *candidate.variant;
        const Resolved resolved = resolve(candidate, problem, device, plan);
        if (!resolved.refusal.empty()) {
            traced.refusals.push_back(
                fmt::format("{} on {} refused: {}.", variant.name, text_of(problem), resolved.refusal));
            continue;
        }
        for (const CacheState state : plan.states) {
            workload->trace(variant, resolved.request.parameters, state);
            traced.calls.push_back({&candidate, state});
        }
    }
    return traced;
}

}  // namespace qkprof
