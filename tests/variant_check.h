// The check that every variant must pass on the emulated device, as the sentences that it gives.
#pragma once

#include "emulator/emulated_device.h"
#include "tuning_table.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace qkprof {

inline Problem shape(std::int64_t batch, std::int64_t sequence, std::int64_t heads, std::int64_t head_dim) {
    Problem problem;
    problem.batch = batch;
    problem.sequence = sequence;
    problem.heads = heads;
    problem.head_dim = head_dim;
    return problem;
}

inline std::string name_of(const Problem& p) { return p.text('/') + '/' + name_of(p.dtype); }

struct Check {
    std::string refused;                  // the variant's reason
    std::vector<std::string> complaints;  // none: it is right
};

// Runs the variant on fresh buffers: its result against the reference, and what it declares against what is counted.
// Parameters that are as_tuned are so by the built-in table.
inline Check check_variant(Device& device, const Variant& variant, const Problem& problem, const Parameters& given) {
    const DeviceInfo& info = device.info();
    const Resolved resolved =
        resolve(variant, given, problem, info.limits, info.description, embedded_tuning(info.backend));
    const Request& request = resolved.request;
    const Parameters& parameters = request.parameters;
    Check check = {.refused = resolved.refusal, .complaints = {}};
    if (!check.refused.empty()) {
        return check;
    }
    const auto workload = device.load(problem, variant.scratch_bytes ? variant.scratch_bytes(request) : 0);
    const Verification result = workload->verify(variant, parameters);
    if (!result.fault.empty()) {
        check.complaints.push_back(result.fault);
        return check;
    }
    if (!result.correct) {
        check.complaints.push_back(
            fmt::format("{} elements are wrong, the error norm is {}.", result.wrong_elements, result.error_norm));
        if (const auto& wrong = result.first_wrong) {
            check.complaints.push_back(fmt::format("Batch {}, position {}, {}, column {}: {} instead of {}.",
                                                   wrong->batch, wrong->position, head_text(problem, *wrong),
                                                   wrong->column, wrong->got, wrong->expected));
        }
    }
    const Declaration declared = variant.declare(request);
    const Counters counters = workload->count(variant, parameters, CacheState::cold);
    const auto compare = [&](const char* what, std::int64_t expected, const char* counter, std::int64_t unit) {
        const auto counted = static_cast<std::int64_t>(counters.find(counter)->second.value.value()) * unit;
        if (counted != expected) {
            check.complaints.push_back(fmt::format("{}: declared {}, counted {}.", what, expected, counted));
        }
    };
    compare("Launches", declared.launches, "launches", 1);
    compare("Shared bytes", declared.shared_bytes, "shared_bytes", 1);
    compare("Loaded bytes", declared.load_bytes, "global_load_sectors", 32);
    compare("Stored bytes", declared.store_bytes, "global_store_sectors", 32);
    return check;
}

}  // namespace qkprof
