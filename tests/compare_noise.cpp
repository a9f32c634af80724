// Whether the gate is right about times: of comparisons of a program with itself hardly one may say worse, a slow-down
// must be found where the noise allows it, and where it does not nobody may say "same". On what an H200 measured in ten
// runs (profiles/h200/baseline.json), and on made-up times that drift, jump and fall out.
#include "compare.h"
#include "noise.h"
#include "sample_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <iostream>
#include <random>

namespace qkprof {
namespace {

constexpr double slow_down = 1.03;

Thresholds standard() {
    return Thresholds(parse_thresholds(embedded_thresholds_toml, "thresholds.toml", {"fused_tile_bulk"}));
}

struct Tally {
    std::map<Standing, std::size_t> of;
    std::size_t total = 0;
    // Of those in which the gate itself says that it would find the slow-down.
    std::map<Standing, std::size_t> of_findable;
    std::size_t findable = 0;

    void add(const Comparison& comparison) {
        for (const Difference& d : comparison.differences) {
            if (d.metric != "real_time") {
                continue;
            }
            ++of[d.standing];
            ++total;
            if (d.finds && *d.finds <= slow_down - 1) {
                ++of_findable[d.standing];
                ++findable;
            }
        }
    }
    double share(Standing standing) const {
        const auto found = of.find(standing);
        return found == of.end() ? 0 : static_cast<double>(found->second) / static_cast<double>(total);
    }
    double share_of_findable(Standing standing) const {
        const auto found = of_findable.find(standing);
        return found == of_findable.end() ? 0 : static_cast<double>(found->second) / static_cast<double>(findable);
    }
};

void slow(Profile& profile, double factor) {
    for (Measurement& m : profile.measurements) {
        for (double& s : m.seconds) {
            s *= factor;
        }
        for (std::vector<double>& run : m.aa_seconds) {
            for (double& s : run) {
                s *= factor;
            }
        }
    }
}

const ComparisonOptions times_alone = {.of_ceiling = false, .metrics = {"real_time"}, .variants = {}};

// The runs of a profile as profiles: the first with the others up to `base_runs` as its A/A measurement, and one a
// profile of the rest.
struct Split {
    Profile base;
    std::vector<Profile> others;
};

Split split(const Profile& profile, std::size_t first, std::size_t base_runs) {
    const std::size_t runs = profile.measurements.front().aa_seconds.size() + 1;
    const auto run_of = [](const Measurement& m, std::size_t run) -> const std::vector<double>& {
        return run == 0 ? m.seconds : m.aa_seconds.at(run - 1);
    };
    Split result = {.base = profile, .others = std::vector<Profile>(runs - base_runs, profile)};
    for (std::size_t i = 0; i < profile.measurements.size(); ++i) {
        const Measurement& m = profile.measurements[i];
        for (std::size_t k = 0; k < runs; ++k) {
            const std::vector<double>& seconds = run_of(m, (first + k) % runs);
            Measurement& to =
                k < base_runs ? result.base.measurements[i] : result.others[k - base_runs].measurements[i];
            if (k == 0 || k >= base_runs) {
                to.aa_seconds.clear();
                to.seconds = seconds;
            } else {
                to.aa_seconds.push_back(seconds);
            }
        }
    }
    return result;
}

class RecordedRuns : public testing::Test {
  protected:
    static void SetUpTestSuite() { recorded = read_profile(QKPROF_PROFILES_FOLDER "/h200/baseline.json"); }

    // Every run that is not among five neighbours, each time other five, against them.
    static Tally compared(double factor) {
        Tally tally;
        for (const std::size_t first : {0U, 5U}) {
            Split runs = split(recorded, first, 5);
            for (Profile& other : runs.others) {
                slow(other, factor);
                tally.add(compare(runs.base, other, standard(), times_alone));
            }
        }
        return tally;
    }

    // For whoever wants to know how often what was said.
    static void record(const Tally& tally) {
        for (const Standing standing : standings) {
            const auto number = [&](const auto& of) { return of.contains(standing) ? of.at(standing) : 0; };
            std::cout << name_of(standing) << ": " << number(tally.of) << " of " << tally.total << ", "
                      << number(tally.of_findable) << " of " << tally.findable << " in which 3 % is findable\n";
        }
    }

    static Profile recorded;
};
Profile RecordedRuns::recorded;

TEST_F(RecordedRuns, ARunIsNotWorseThanAnother) {
    const Tally tally = compared(1);
    record(tally);
    ASSERT_GE(tally.total, 1000U);
    EXPECT_LE(tally.share(Standing::worse), 0.001);
    EXPECT_LE(tally.share(Standing::better), 0.001);
    EXPECT_GT(tally.share(Standing::same), 0.3);  // it must not be right by saying nothing
}

TEST_F(RecordedRuns, ASlowDownIsFoundWhereTheNoiseAllowsIt) {
    const Tally tally = compared(slow_down);
    record(tally);
    ASSERT_GE(tally.findable, 1000U);
    EXPECT_GE(tally.share_of_findable(Standing::worse), 0.99);
    EXPECT_LE(tally.share(Standing::same), 0.001);
    EXPECT_EQ(tally.share(Standing::better), 0);
    EXPECT_GT(tally.share(Standing::inconclusive), 0.1);
}

// Runs of 14 variants on one problem. Each run has its own offset, each sample its own noise.
struct Machine {
    double between_runs = 0.001;
    double between_samples = 0.004;
    int samples = 20;
    // What happens to the i-th sample of a run, beside noise.
    std::function<double(int i, std::mt19937_64& random)> further = [](int, std::mt19937_64&) { return 1.0; };

    std::vector<double> run(std::mt19937_64& random) const {
        std::normal_distribution<double> noise;
        const double offset = between_runs * noise(random);
        std::vector<double> seconds;
        for (int i = 0; i < samples; ++i) {
            seconds.push_back(1e-5 * std::exp(offset + between_samples * noise(random)) * further(i, random));
        }
        return seconds;
    }

    Profile profile(std::mt19937_64& random, int further_runs) const {
        Profile profile;
        profile.environment = environment_of(FakeDevice().info(), "qkprof");
        profile.environment.complete = true;
        profile.environment.device.backend = Backend::cuda;
        profile.environment.device.facts = {{"uuid", "GPU-1"}};
        for (int i = 0; i < 14; ++i) {
            Measurement m = timed("variant_" + std::to_string(i), Family::register_only, 1e-5);
            m.counters["sm_clock_mhz"] = counted(1980);
            m.counters["memory_clock_mhz"] = counted(3201);
            m.counters["throttled_samples"] = counted(0);
            m.seconds = run(random);
            m.host_seconds.assign(m.seconds.size(), 1e-3);
            for (int k = 0; k < further_runs; ++k) {
                m.aa_seconds.push_back(run(random));
            }
            profile.measurements.push_back(std::move(m));
        }
        return profile;
    }
};

Tally compared(const Machine& machine, double factor) {
    std::mt19937_64 random(7);
    Tally tally;
    while (tally.total < (factor == 1 ? 1000U : 400U)) {
        const Profile base = machine.profile(random, 4);
        Profile now = machine.profile(random, 0);
        slow(now, factor);
        tally.add(compare(base, now, standard(), times_alone));
    }
    return tally;
}

void expect_not_fooled(const Machine& machine) {
    const Tally tally = compared(machine, 1);
    EXPECT_LE(tally.share(Standing::worse), 0.001);
    EXPECT_LE(tally.share(Standing::better), 0.001);
}

void expect_found(const Machine& machine) {
    const Tally tally = compared(machine, slow_down);
    EXPECT_GE(tally.share(Standing::worse), 0.99);
    EXPECT_EQ(tally.share(Standing::same), 0);
}

TEST(MadeUpRuns, AQuietMachine) {
    expect_not_fooled({});
    expect_found({});
    EXPECT_GT(compared(Machine(), 1).share(Standing::same), 0.95);
}

TEST(MadeUpRuns, ANoisyMachineDecidesNothing) {
    const Machine noisy = {.between_runs = 0.02, .between_samples = 0.004};
    expect_not_fooled(noisy);
    const Tally tally = compared(noisy, slow_down);
    EXPECT_EQ(tally.share(Standing::same), 0);
    EXPECT_GT(tally.share(Standing::inconclusive), 0.95);
    expect_not_fooled({.between_runs = 0.001, .between_samples = 0.05});
    EXPECT_EQ(compared({.between_runs = 0.001, .between_samples = 0.05}, slow_down).share(Standing::same), 0);
}

TEST(MadeUpRuns, Outliers) {
    Machine machine;
    machine.further = [](int, std::mt19937_64& random) {
        return std::uniform_real_distribution<double>()(random) < 0.1
                   ? 1 + 2 * std::uniform_real_distribution<double>()(random)
                   : 1;
    };
    expect_not_fooled(machine);
    const Tally tally =
        compared(machine, slow_down);  // where five of twenty are outliers it does not say that it finds it
    EXPECT_GT(tally.findable, tally.total * 8 / 10);
    EXPECT_GE(tally.share_of_findable(Standing::worse), 0.99);
    EXPECT_EQ(tally.share(Standing::same), 0);
}

// Warming up: the first sample is 3 % slower than the last.
TEST(MadeUpRuns, Drift) {
    Machine machine;
    machine.further = [](int i, std::mt19937_64&) { return 1.03 - 0.0015 * i; };
    expect_not_fooled(machine);
    EXPECT_EQ(compared(machine, slow_down).share(Standing::same), 0);
}

// Half of the samples 6 % slower, at random.
TEST(MadeUpRuns, TwoClocksWithinARun) {
    Machine machine;
    machine.further = [](int, std::mt19937_64& random) { return std::bernoulli_distribution(0.5)(random) ? 1.06 : 1; };
    expect_not_fooled(machine);
    EXPECT_EQ(compared(machine, slow_down).share(Standing::same), 0);
}

TEST(MadeUpRuns, AnotherClockIsNotCompared) {
    std::mt19937_64 random(7);
    const Profile base = Machine().profile(random, 4);
    Profile now = Machine().profile(random, 0);
    slow(now, 1980.0 / 1755);
    for (Measurement& m : now.measurements) {
        m.counters["sm_clock_mhz"] = counted(1755);
    }
    const Comparison comparison = compare(base, now, standard(), times_alone);
    EXPECT_EQ(comparison.count(Standing::not_comparable), comparison.differences.size());
}

TEST(MadeUpRuns, ThrottledSamplesAreLeftOut) {
    std::mt19937_64 random(7);
    const Profile base = Machine().profile(random, 4);
    Profile now = Machine().profile(random, 0);
    const auto throttle = [&](std::size_t how_many) {
        for (Measurement& m : now.measurements) {
            for (std::size_t i = 0; i < how_many; ++i) {
                m.throttled.push_back({i, m.seconds.back() * 1.4, 1e-3, {"power cap"}});
                m.seconds.pop_back();
                m.host_seconds.pop_back();
            }
        }
    };
    throttle(8);
    now = parse_profile(to_json(now), "now");  // as a file says it
    EXPECT_EQ(compare(base, now, standard(), times_alone).count(Standing::worse), 0U);
    EXPECT_GT(compare(base, now, standard(), times_alone).count(Standing::same), 10U);
    throttle(12);
    const Comparison comparison = compare(base, now, standard(), {});
    EXPECT_EQ(comparison.count(Standing::missing), now.measurements.size());
}

}  // namespace
}  // namespace qkprof
