// A variant with tuned parameters, and a table of it.
#pragma once

#include "fake_device.h"
#include "tuning.h"

namespace qkprof {

// lanes 1, 2 or 4, and heads 1 or 2 (tuned); threads 64 or 128 (not). `refuses` is its refusal.
inline Variant tuned_variant(std::function<std::string(const Request&)> refuses = [](const Request&) {
    return std::string();
}) {
    Variant variant = fake_variant("best");
    variant.parameters = {{"lanes", "lanes a head vector", as_tuned, {1, 2, 4}},
                          {"heads", "head vectors at once", as_tuned, {1, 2}},
                          {"threads", "threads a block", 128, {64, 128}}};
    variant.features = {std::begin(all_features), std::end(all_features)};
    variant.refuses = std::move(refuses);
    return variant;
}

inline TuningEntry tuning_entry(const Problem& problem, int lanes, int heads) {
    return {.problem = problem,
            .parameters = {{"heads", heads}, {"lanes", lanes}},
            .seconds = 2e-6,
            .copy_seconds = 1.5e-6};
}

}  // namespace qkprof
