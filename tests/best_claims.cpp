// The claims that guard the speed of fused_best, on made-up profiles: where it is as fast as they say they are
// supported, and each is refuted by a fault planted in one of its cells.
#include "claims.h"
#include "claims_problems.h"
#include "fake_device.h"
#include "judge.h"
#include "shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace qkprof {
namespace {

constexpr std::int64_t mebi = 1 << 20;

std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const Variant& variant : variants(Backend::emulated)) {
        all.push_back(variant.name);
    }
    return all;
}

std::vector<Claim> claims_of_best() {
    // The claims on frameworks name routes that are no variants.
    const std::string toml = embedded_claims_toml;
    const std::string native = toml.substr(0, toml.find("# Of what frameworks make of the operation"));
    return choose_claims(parse_claims(native, "claims.toml", names()), {"best_*", "packed_best_*", "programmatic_*"});
}

Problem plain(std::int64_t tokens, DataType dtype) {
    const std::int64_t sequence = std::min<std::int64_t>(tokens, 1024);
    return {.batch = tokens / sequence, .sequence = sequence, .heads = 16, .head_dim = 128, .dtype = dtype};
}

Problem packed(std::int64_t tokens) {
    Problem problem = packed_claims_problems().front();
    problem.sequence = tokens;
    return problem;
}

// Those that `qkprof claims` measures on a GPU.
std::vector<Problem> problems() {
    std::vector<Problem> all = packed_claims_problems();
    for (const std::string& text : claims_shapes(Backend::cuda)) {
        for (const DataType dtype : {DataType::f32, DataType::bf16, DataType::f16}) {
            all.push_back(parse_shape(text).problem());
            all.back().dtype = dtype;
        }
    }
    return all;
}

// 30 samples about `seconds`, within 0.1 %.
std::vector<double> samples(double seconds, std::mt19937& generator) {
    std::vector<double> drawn(30);
    for (double& sample : drawn) {
        sample = seconds * (1 + 0.001 * (static_cast<double>(generator()) / 0x1p31 - 1));
    }
    return drawn;
}

// Its time over the copy's, so good that all claims hold by little.
double best_over_copy(const Problem& problem) {
    const std::int64_t bytes = problem.compulsory_bytes();
    return bytes <= 72 << 10       ? 0.98
           : bytes <= 3 * mebi / 2 ? 1.03
           : bytes <= 9 * mebi / 2 ? 1.09
           : bytes <= 128 * mebi   ? 1.04
                                   : 1.01;
}

struct Made {
    const char* variant;
    double (*over_copy)(const Problem&);
    double shared_wavefronts;
    double dram_part;  // of the compulsory bytes
};

Measurement measurement(const Made& made, const Problem& problem, CacheState state, std::mt19937& generator) {
    Measurement m;
    m.variant = made.variant;
    m.family = m.variant == "copy" ? Family::ceiling : Family::register_only;
    m.problem = problem;
    m.state = state;
    m.verification = correct_result();
    m.timer = "graph_events";
    const auto bytes = static_cast<double>(problem.compulsory_bytes());
    m.counters = {{"shared_wavefronts", counted(made.shared_wavefronts)},
                  {"registers", counted(40)},
                  {"local_bytes", counted(0)},
                  {"dram_read_bytes", counted(made.dram_part * bytes / 2)},
                  {"dram_write_bytes", counted(made.dram_part * bytes / 2)}};
    m.seconds = samples(made.over_copy(problem) * (1e-6 + bytes / 4e12), generator);
    m.host_seconds.assign(m.seconds.size(), 1);
    return m;
}

using Change = std::function<void(Measurement&)>;

std::vector<Profile> made_up(const Change& change) {
    const std::vector<Made> all = {
        {"copy", [](const Problem&) { return 1.0; }, 0, 1},
        {"fused_best", best_over_copy, 0, 1.005},
        {"fused_register", [](const Problem& p) { return 1.02 * best_over_copy(p); }, 0, 1},
        {"fused_table_shared", [](const Problem&) { return 1.3; }, 100, 1},
        {"fused_tile_shared", [](const Problem&) { return 1.3; }, 100, 1},
        {"split_two_kernel", [](const Problem&) { return 2.0; }, 0, 1.5},
        {"naive_three_kernel", [](const Problem&) { return 4.0; }, 0, 2.5},
    };
    const Made without = {
        "fused_best",
        [](const Problem& p) { return best_over_copy(p) * (p.compulsory_bytes() < 2 * mebi ? 1.3 : 1.0); }, 0, 1.005};
    Profile profile;
    profile.environment = environment_of(FakeDevice().info(), "qkprof");
    profile.environment.device.l2_bytes = 60 * mebi;
    profile.environment.complete = true;
    std::mt19937 generator(1);
    for (const Problem& problem : problems()) {
        for (const CacheState state : {CacheState::cold, CacheState::warm}) {
            for (const Made& made : all) {
                profile.measurements.push_back(measurement(made, problem, state, generator));
            }
            profile.measurements.push_back(measurement(without, problem, state, generator));
            profile.measurements.back().non_standard = {{"programmatic", 0}};
        }
    }
    for (Measurement& m : profile.measurements) {
        change(m);
    }
    return {profile};
}

Decision decision_of(const Claim& claim, const Change& change) {
    const std::vector<Profile> profiles = made_up(change);
    return judge(claim, Evidence(profiles)).decision;
}

bool is(const Measurement& m, const std::string& variant, const Problem& problem, CacheState state = CacheState::warm) {
    return m.variant == variant && m.non_standard.empty() && m.problem == problem && m.state == state;
}

// fused_best takes `factor` times as long in one cell.
Change slower(const Problem& problem, double factor) {
    return [=](Measurement& m) {
        if (is(m, "fused_best", problem)) {
            for (double& seconds : m.seconds) {
                seconds *= factor;
            }
        }
    };
}

Change counts(const Problem& problem, CacheState state, const std::string& counter, double factor, double plus) {
    return [=](Measurement& m) {
        if (is(m, "fused_best", problem, state)) {
            m.counters[counter] = counted(*m.counters[counter].value * factor + plus);
        }
    };
}

struct Case {
    const char* id;
    Change fault;
};

std::vector<Case> faults() {
    const Problem two_gibi = plain(131072, DataType::f32);
    return {
        {"best_streams_as_fast_as_the_copy", slower(plain(32768, DataType::bf16), 1.015)},
        {"best_is_as_fast_as_the_copy_in_the_l2", slower(plain(2048, DataType::f16), 1.02)},
        {"best_is_as_fast_as_the_copy_at_4_mib", slower(plain(256, DataType::f32), 1.03)},
        {"best_takes_no_longer_than_the_copy_to_decode", slower(plain(128, DataType::bf16), 1.03)},
        {"best_beats_the_copy_at_64_kib", slower(plain(4, DataType::f32), 1.03)},
        {"programmatic_launch_hides_the_launch", slower(plain(64, DataType::f32), 1.25)},
        {"best_is_never_slower_than_a_warp_a_head_vector", slower(packed(8192), 1.03)},
        {"best_uses_no_shared_memory", counts(packed(64), CacheState::cold, "shared_wavefronts", 1, 1)},
        {"best_spills_nothing", counts(plain(4, DataType::f16), CacheState::cold, "local_bytes", 1, 8)},
        {"best_is_at_the_floor_of_the_dram", counts(two_gibi, CacheState::warm, "dram_read_bytes", 1.02, 0)},
        {"packed_best_streams_as_fast_as_the_copy", slower(packed(65536), 1.05)},
        {"packed_best_is_as_fast_as_the_copy_in_the_l2", slower(packed(1024), 1.06)},
        {"packed_best_takes_no_longer_than_the_copy_to_decode", slower(packed(64), 1.06)},
        {"packed_best_beats_the_copy_at_one_token", slower(packed(1), 1.12)},
    };
}

TEST(BestClaims, AreSupportedWhereItIsAsFastAsTheySay) {
    const std::vector<Profile> profiles = made_up([](Measurement&) {});
    const Evidence evidence(profiles);
    for (const Claim& claim : claims_of_best()) {
        const Verdict verdict = judge(claim, evidence);
        EXPECT_EQ(verdict.decision, Decision::supported) << claim.id << ": " << testing::PrintToString(verdict.reasons);
    }
}

TEST(BestClaims, AreRefutedByAFaultInOneCell) {
    std::vector<std::string> of_claims;
    for (const Claim& claim : claims_of_best()) {
        of_claims.push_back(claim.id);
    }
    std::vector<std::string> of_faults;
    for (const Case& c : faults()) {
        of_faults.emplace_back(c.id);
        EXPECT_EQ(decision_of(choose_claims(claims_of_best(), {c.id}).at(0), c.fault), Decision::refuted) << c.id;
    }
    EXPECT_EQ(of_faults, of_claims);  // each has one
}

TEST(BestClaims, CoverTheProblemsThatTheyAreAbout) {
    const std::vector<Profile> profiles = made_up([](Measurement&) {});
    const Evidence evidence(profiles);
    const auto cells = [&](const std::string& id) {
        return evidence.covered(choose_claims(claims_of_best(), {id}).at(0).test).size();
    };
    EXPECT_EQ(cells("best_streams_as_fast_as_the_copy"), 4U + 3 + 3);  // 256 MiB to 2 GiB in f32, to 1 GiB in 16 bits
    EXPECT_EQ(cells("best_is_as_fast_as_the_copy_in_the_l2"), 2U * 3);
    EXPECT_EQ(cells("best_is_as_fast_as_the_copy_at_4_mib"), 3U);
    EXPECT_EQ(cells("best_takes_no_longer_than_the_copy_to_decode"), 5U + 6 + 6);  // from 4 tokens to 1 MiB
    EXPECT_EQ(cells("best_beats_the_copy_at_64_kib"), 1U + 2 + 2);
    EXPECT_EQ(cells("programmatic_launch_hides_the_launch"), 5U + 6 + 6);
    EXPECT_EQ(cells("best_is_never_slower_than_a_warp_a_head_vector"), 16U * 3 + 5);
    EXPECT_EQ(cells("best_uses_no_shared_memory"), 2U * (16 * 3 + 5));
    EXPECT_EQ(cells("best_is_at_the_floor_of_the_dram"), 2U * (4 + 3 + 3));
    EXPECT_EQ(cells("packed_best_streams_as_fast_as_the_copy"), 2U);
    EXPECT_EQ(cells("packed_best_is_as_fast_as_the_copy_in_the_l2"), 1U);
    EXPECT_EQ(cells("packed_best_takes_no_longer_than_the_copy_to_decode"), 2U);
    EXPECT_EQ(cells("packed_best_beats_the_copy_at_one_token"), 1U);
}

TEST(BestClaims, TheOtherClaimsAreAboutTheFirstForm) {
    const std::vector<Profile> profiles = made_up([](Measurement&) {});
    const Evidence evidence(profiles);
    const std::string toml = embedded_claims_toml;
    for (const Claim& claim : parse_claims(toml.substr(0, toml.find("# Of what frameworks")), "claims.toml", names())) {
        if (claim.id.find("best_") != std::string::npos || claim.id.starts_with("programmatic_")) {
            continue;
        }
        std::vector<qkprof::Test> tests = claim.controls;
        tests.push_back(claim.test);
        for (const qkprof::Test& test : tests) {
            for (const Covered& cell : evidence.covered(test)) {
                EXPECT_EQ(cell.exhibit.measurement->problem.layout, Layout::separate) << claim.id;
            }
        }
    }
}

}  // namespace
}  // namespace qkprof
