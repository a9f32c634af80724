// A profile with a measurement of each kind, and what is said of one that is damaged.
#pragma once

#include "error.h"
#include "fake_device.h"
#include "profile.h"

#include <limits>
#include <string>

namespace qkprof {

inline Measurement timed(const std::string& variant, Family family, double seconds) {
    Measurement m;
    m.variant = variant;
    m.family = family;
    m.problem = {.batch = 2, .sequence = 3, .heads = 4, .head_dim = 64, .dtype = DataType::bf16, .seed = ~0ULL};
    m.state = CacheState::cold;
    m.parameters = {{"threads", 64}, {"heads", 2}};
    m.non_standard = {{"threads", 64}};
    m.verification = correct_result();
    m.declaration = Declaration{.launches = 1, .load_bytes = 3072, .store_bytes = 3072, .shared_bytes = 512};
    m.counters = as_declared(*m.declaration);
    m.counters["l2_read_sectors"] = {.value = 12.5, .source = Source::modelled, .reason = {}};
    m.counters["sm__x.sum.per_second"] = counted(0.25);
    m.kernels = {{.name = "a<float>(int)",
                  .launches = 2.5,
                  .grid = {1LL << 31, 2, 3},
                  .block = {64, 1, 1},
                  .registers = 40,
                  .static_shared = 16,
                  .dynamic_shared = 512},
                 {.name = "b", .launches = 1, .grid = {1, 1, 1}, .block = {32, 1, 1}, .registers = {}}};
    m.seconds = {seconds, seconds * 1.5, seconds * 0.75};
    m.host_seconds = {1e-3, 2e-3, 3e-3};
    m.timer = "graph_events";
    return m;
}

inline Profile sample_profile() {
    FakeDevice device;
    Profile profile;
    profile.environment = environment_of(device.info(), "qkprof");
    profile.environment.complete = true;
    profile.environment.further = {{"who", "me"}};
    profile.measurements.push_back(timed("copy", Family::ceiling, 8e-6));
    profile.measurements.push_back(timed("fused", Family::register_only, 1e-5));
    Measurement untimed = timed("counted", Family::split, 1);
    untimed.seconds.clear();
    untimed.host_seconds.clear();
    untimed.timer.clear();
    untimed.no_time_reason = "the fake device has no clock";
    untimed.contradictions = {"It declares 1 and 2 were counted."};
    profile.measurements.push_back(untimed);
    Measurement wrong = untimed;
    wrong.variant = "wrong";
    wrong.contradictions.clear();
    wrong.verification = {.correct = false,
                          .error_norm = std::numeric_limits<double>::quiet_NaN(),
                          .wrong_elements = 5,
                          .first_wrong = WrongElement{.batch = 1,
                                                      .position = 2,
                                                      .head = 3,
                                                      .column = 4,
                                                      .got = std::numeric_limits<double>::quiet_NaN(),
                                                      .expected = 0.5},
                          .fault = {}};
    profile.measurements.push_back(wrong);
    Measurement refused;
    refused.variant = "picky";
    refused.problem = untimed.problem;
    refused.refused = "it is not in the mood";
    profile.measurements.push_back(refused);
    Measurement faulted = refused;
    faulted.variant = "broken";
    faulted.refused.clear();
    faulted.verification.fault = "it read past the end of q";
    profile.measurements.push_back(faulted);
    Measurement lost = refused;
    lost.variant = "lost";
    lost.refused.clear();
    lost.not_run = "the GPU has no memory free";
    profile.measurements.push_back(lost);
    return profile;
}

inline std::string refusal(const std::string& text) {
    try {
        parse_profile(text, "p.json");
    } catch (const InputError& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace qkprof
