// The emulated device behind the interface of the harness: what it says of itself, cold and warm counts, refusals.

#include "emulator/emulated_device.h"

#include "error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace qkprof {
namespace {

const Variant& copy() {
    for (const Variant& variant : variants(Backend::emulated)) {
        if (variant.name == "copy") {
            return variant;
        }
    }
    throw std::logic_error("The variant copy is not registered.");
}

// 2 * 64 KiB.
Problem small() {
    Problem problem;
    problem.sequence = 8;
    problem.heads = 16;
    return problem;
}

double value(const Counters& counters, const char* name) { return counters.find(name)->second.value.value(); }

TEST(EmulatedDevice, SaysWhatItIs) {
    const auto device = open_emulated_device({.l2_bytes = 1 << 20, .multiprocessors = 7});
    EXPECT_EQ(device->info().id, "emulated");
    EXPECT_EQ(device->info().limits.multiprocessors, 7);
    EXPECT_EQ(device->info().limits.shared_bytes_per_block, 227 << 10);
    EXPECT_EQ(device->info().l2_bytes, 1 << 20);
    EXPECT_FALSE(device->info().has_clock);
}

TEST(EmulatedDevice, CountsAreMarkedByTheirSource) {
    const auto device = open_emulated_device({});
    const auto workload = device->load(small(), 0);
    const Counters counters = workload->count(copy(), copy().standard_parameters(), CacheState::cold);
    for (const char* name : {"launches", "submissions", "global_load_sectors", "global_store_sectors",
                             "shared_wavefronts", "bank_conflicts", "shared_bytes", "compulsory_bytes"}) {
        EXPECT_EQ(counters.find(name)->second.source, Source::emulated) << name;
        EXPECT_TRUE(counters.find(name)->second.value.has_value()) << name;
    }
    for (const char* name : {"l2_read_sectors", "l2_write_sectors", "dram_read_bytes", "dram_write_bytes"}) {
        EXPECT_EQ(counters.find(name)->second.source, Source::modelled) << name;
        EXPECT_TRUE(counters.find(name)->second.value.has_value()) << name;
    }
    const Counter& registers = counters.find("registers")->second;
    EXPECT_FALSE(registers.value.has_value());
    EXPECT_NE(registers.reason, "");
}

TEST(EmulatedDevice, ColdReadsDramAndWarmDoesNot) {
    const auto device = open_emulated_device({});
    const auto workload = device->load(small(), 0);
    const Parameters parameters = copy().standard_parameters();
    const Counters cold = workload->count(copy(), parameters, CacheState::cold);
    const Counters warm = workload->count(copy(), parameters, CacheState::warm);
    EXPECT_EQ(value(cold, "dram_read_bytes"), 65536);
    EXPECT_EQ(value(warm, "dram_read_bytes"), 0);
    EXPECT_EQ(value(cold, "l2_read_sectors"), 2048);
    EXPECT_EQ(value(warm, "l2_read_sectors"), 2048);  // the L1 does not outlive a launch
    EXPECT_EQ(value(warm, "l2_write_sectors"), 2048);
    EXPECT_EQ(value(warm, "dram_write_bytes"), 0);  // they stay in the L2
}

TEST(EmulatedDevice, WhatDoesNotFitTheL2IsNeverWarm) {
    const auto device = open_emulated_device({.l2_bytes = 1 << 14, .multiprocessors = 132});
    const auto workload = device->load(small(), 0);
    const Parameters parameters = copy().standard_parameters();
    const Counters warm = workload->count(copy(), parameters, CacheState::warm);
    EXPECT_EQ(value(warm, "dram_read_bytes"), 65536);
    EXPECT_EQ(value(warm, "dram_write_bytes"), 65536);  // of the call before as well as of this one
}

TEST(EmulatedDevice, WarmCountsDoNotDependOnWhatWasCountedBefore) {
    const Parameters parameters = copy().standard_parameters();
    const auto device = open_emulated_device({.l2_bytes = 1 << 17, .multiprocessors = 132});
    const auto fresh = device->load(small(), 0);
    const double first = value(fresh->count(copy(), parameters, CacheState::warm), "dram_write_bytes");
    const auto second = device->load(small(), 0);
    second->verify(copy(), parameters);
    fresh->verify(copy(), {{"threads", 128}});  // other data in the caches
    EXPECT_EQ(value(second->count(copy(), parameters, CacheState::warm), "dram_write_bytes"), first);
}

TEST(EmulatedDevice, AnEmptyProblemCountsNothing) {
    Problem problem = small();
    problem.batch = 0;
    const auto device = open_emulated_device({});
    const auto workload = device->load(problem, 0);
    const Parameters parameters = copy().standard_parameters();
    EXPECT_TRUE(workload->verify(copy(), parameters).correct);
    EXPECT_EQ(value(workload->count(copy(), parameters, CacheState::warm), "launches"), 0);
}

TEST(EmulatedDevice, HasNoClock) {
    const auto device = open_emulated_device({});
    const auto workload = device->load(small(), 0);
    EXPECT_THROW(workload->timing(copy(), copy().standard_parameters(), CacheState::warm), CannotMeasure);
}

TEST(EmulatedDevice, RefusesWhatDoesNotFitTheMemory) {
    const auto device = open_emulated_device({});
    Problem problem = small();
    problem.batch = std::int64_t{1} << 24;  // 2 TiB
    const std::int64_t needed = device->bytes_needed(problem, 1000);
    EXPECT_EQ(needed, 2 * problem.tensor_bytes() + 512 + 2 * 8 * 64 * 4 + 1000);
    try {
        device->load(problem, 1000);
        FAIL() << "it was loaded";
    } catch (const InputError& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr(std::to_string(needed)));
        EXPECT_THAT(error.what(), testing::HasSubstr(std::to_string(device->info().memory_bytes)));
        EXPECT_THAT(error.what(), testing::HasSubstr("16777216x8x16x128"));
    }
}

TEST(EmulatedDevice, NamesTheKernelsOfACall) {
    const auto device = open_emulated_device({});
    const auto workload = device->load(small(), 0);
    const Parameters parameters = copy().standard_parameters();
    Variant twice = copy();
    twice.name = "twice";
    twice.run = [](const Call& call) {
        copy().run(call);
        copy().run(call);
    };
    const std::vector<CountJob> jobs = {{&copy(), &parameters, CacheState::cold},
                                        {&twice, &parameters, CacheState::warm}};
    const std::vector<Counts> counts = workload->count(jobs);
    ASSERT_EQ(counts.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
        ASSERT_EQ(counts[i].kernels.size(), 1U);
        const KernelUse& kernel = counts[i].kernels.front();
        EXPECT_EQ(kernel.name, "copy");
        EXPECT_EQ(kernel.launches, i == 0 ? 1.0 : 2.0);
        EXPECT_EQ(kernel.launches, counts[i].counters.at("launches").value);
        EXPECT_EQ(kernel.block, (std::array<std::int64_t, 3>{parameters.at("threads"), 1, 1}));
        EXPECT_GT(kernel.grid[0], 0);
        EXPECT_FALSE(kernel.registers.has_value());
        EXPECT_EQ(kernel.dynamic_shared, 0);
    }
    EXPECT_THROW(device->choose_metrics({"dram__bytes_read.sum"}), InputError);
}

TEST(EmulatedDevice, AFaultIsAVerificationAndLeavesNoCounts) {
    Variant broken = copy();
    broken.name = "broken";
    broken.run = [](const Call& call) {
        Request request = call.request;
        request.problem.batch += 1;  // beyond the buffers
        copy().run(Call{request, call.buffers, call.stream});
    };
    const auto device = open_emulated_device({});
    const auto workload = device->load(small(), 0);
    const Parameters parameters = copy().standard_parameters();
    EXPECT_THAT(workload->verify(broken, parameters).fault,
                testing::HasSubstr("loads 16 bytes at byte 65536 of q, which has 65536 bytes."));
    const Counters counters = workload->count(broken, parameters, CacheState::cold);
    EXPECT_FALSE(counters.find("launches")->second.value.has_value());
    EXPECT_THAT(counters.find("launches")->second.reason, testing::HasSubstr("did not finish"));
    EXPECT_TRUE(workload->verify(copy(), parameters).correct);
}

}  // namespace
}  // namespace qkprof
