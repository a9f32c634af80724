// Each call once, alone in its NVTX range, for a profiler that watches from outside: Nsight Compute, Nsight Systems.
#pragma once

#include "run.h"

#include <string>
#include <vector>

namespace qkprof {

struct Traced {
    struct Call {
        const Candidate* candidate = nullptr;  // one of the plan's
        CacheState state = CacheState::cold;
    };
    std::vector<Call> calls;            // in the order in which they ran
    std::vector<std::string> refusals;  // a sentence for each variant that does not run the problem
};

// Runs each candidate once in each state. The ranges are named <variant>.<state>, which names a call only if the plan
// holds one problem and each variant once: throws InputError otherwise. Throws CannotMeasure on a device that no
// profiler can watch.
Traced trace(Device& device, const Plan& plan);

}  // namespace qkprof
