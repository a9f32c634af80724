// The counters of a GPU against what must be: known traffic is read rightly, every variant moves what it declares, and
// one profiling session follows another. Skipped, with the reason, where the counters cannot be read.
#include "cuda/activity_recorder.h"
#include "cuda/context.h"
#include "cuda/device_kernels.h"
#include "gpu_fixture.h"

#include <vector>

namespace qkprof {
namespace {

class GpuTraffic : public Gpu {
  protected:
    void SetUp() override {
        Gpu::SetUp();
        if (IsSkipped()) {
            return;
        }
        const Problem problem = {.batch = 1, .sequence = 8, .heads = 4};
        const Counter dram = count("copy", problem, CacheState::cold).at("dram_read_bytes");
        if (!dram.value) {
            ASSERT_FALSE(dram.reason.empty());
            GTEST_SKIP() << dram.reason;
        }
    }

    static Counters count(const std::string& name, const Problem& problem, CacheState state) {
        const Variant& variant = variant_named(name);
        return load_for(variant, problem)->count(variant, variant.standard_parameters(), state);
    }

    static double value(const Counters& counters, const std::string& name) {
        const Counter& counter = counters.at(name);
        EXPECT_TRUE(counter.value.has_value()) << name << ": " << counter.reason;
        return counter.value.value_or(-1);
    }
};

TEST_F(GpuTraffic, ACopyOf256MebibytesComesFromTheMemoryOnce) {
    const Problem problem = {.batch = 32, .sequence = 1024, .heads = 16};
    const auto bytes = static_cast<double>(problem.tensor_bytes());
    ASSERT_EQ(problem.tensor_bytes(), 256 << 20);
    const Counters counters = count("copy", problem, CacheState::cold);
    EXPECT_NEAR(value(counters, "dram_read_bytes") / bytes, 1.0, 0.01);
    // Up to a part of the L2 may still hold what was written when the range ends.
    EXPECT_LT(value(counters, "dram_write_bytes"), 1.01 * bytes);
    EXPECT_GT(value(counters, "dram_write_bytes"), bytes - static_cast<double>(device().info().l2_bytes));
    EXPECT_EQ(value(counters, "global_load_sectors"), bytes / 32);
    EXPECT_EQ(value(counters, "global_store_sectors"), bytes / 32);
    EXPECT_EQ(value(counters, "l2_read_sectors"), bytes / 32);
    EXPECT_EQ(value(counters, "l2_write_sectors"), bytes / 32);
    EXPECT_GT(value(counters, "achieved_occupancy"), 10);
    EXPECT_LE(value(counters, "achieved_occupancy"), 100);
    EXPECT_GT(value(counters, "instructions"), bytes / 16 / 32);
}

TEST_F(GpuTraffic, AWarmCopyOf8MebibytesReadsNextToNothingFromTheMemory) {
    const Problem problem = {.batch = 1, .sequence = 512, .heads = 16};
    const auto moved = static_cast<double>(2 * problem.tensor_bytes());
    ASSERT_EQ(problem.tensor_bytes(), 4 << 20);
    EXPECT_LT(value(count("copy", problem, CacheState::warm), "dram_read_bytes"), 0.01 * moved);
    EXPECT_NEAR(value(count("copy", problem, CacheState::cold), "dram_read_bytes") / (moved / 2), 1.0, 0.01);
}

// However often, and by whatever variant, the L2 was asked to keep the tables before.
TEST_F(GpuTraffic, AColdCallReadsTablesThatTheL2WasAskedToKeep) {
    for (const std::int64_t sequence : {1024, 32768}) {  // 512 KiB and 16 MiB of tables
        const Problem problem = {.batch = 1, .sequence = sequence, .heads = 16};
        SCOPED_TRACE(text_of(problem));
        const Variant& persisting = variant_named("cache_aware_persist");
        const Variant& plain = variant_named("fused_register_paired");
        const Variant& streaming = variant_named("cache_aware_stream");
        const auto workload = load_for(plain, problem);
        const std::vector<Parameters> standard = {persisting.standard_parameters(), plain.standard_parameters(),
                                                  streaming.standard_parameters()};
        const auto inputs = static_cast<double>(problem.compulsory_bytes() - problem.tensor_bytes());
        const auto expect_cold = [&](const Counters& counters) {
            EXPECT_GE(value(counters, "dram_read_bytes"), inputs);
            EXPECT_LT(value(counters, "dram_read_bytes"), 1.05 * inputs);
        };
        const std::vector<CountJob> jobs = {{&persisting, standard.data(), CacheState::warm},
                                            {&persisting, standard.data(), CacheState::cold},
                                            {&plain, &standard[1], CacheState::cold},
                                            {&streaming, &standard[2], CacheState::cold}};
        const std::vector<Counts> counts = workload->count(jobs);
        for (std::size_t i = 1; i < jobs.size(); ++i) {
            SCOPED_TRACE(jobs[i].variant->name);
            expect_cold(counts.at(i).counters);
        }
        workload->timing(persisting, standard[0], CacheState::warm)->sample();
        expect_cold(workload->count(plain, standard[1], CacheState::cold));
    }
}

// All variants of a problem in one session, as a run does it; and a session a problem in one process.
TEST_F(GpuTraffic, EveryVariantMovesWhatItDeclares) {
    for (const Problem& problem :
         {Problem{.batch = 2, .sequence = 64, .heads = 16}, Problem{.batch = 1, .sequence = 127, .heads = 5},
          Problem{.batch = 2, .sequence = 64, .heads = 16, .head_dim = 256, .dtype = DataType::bf16},
          Problem{.batch = 3, .sequence = 33, .heads = 7, .head_dim = 64, .dtype = DataType::f16}}) {
        SCOPED_TRACE(text_of(problem));
        std::vector<const Variant*> chosen;
        std::vector<Parameters> parameters;
        std::int64_t scratch = 0;
        for (const Variant& variant : variants(Backend::cuda)) {
            if (variant.refusal(request_for(variant, problem)).empty()) {
                chosen.push_back(&variant);
                parameters.push_back(request_for(variant, problem).parameters);
                scratch = std::max(scratch, scratch_for(variant, problem));
            }
        }
        ASSERT_GT(chosen.size(), 5U);
        std::vector<CountJob> jobs;
        for (std::size_t i = 0; i < chosen.size(); ++i) {
            jobs.push_back({chosen[i], &parameters[i], CacheState::cold});
            jobs.push_back({chosen[i], &parameters[i], CacheState::warm});
        }
        const std::vector<Counts> counts = device().load(problem, scratch)->count(jobs);
        ASSERT_EQ(counts.size(), jobs.size());
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            const Variant& variant = *jobs[i].variant;
            SCOPED_TRACE(variant.name + " " + name_of(jobs[i].state));
            const Declaration declared = variant.declare(request_for(variant, problem));
            const Counters& counters = counts[i].counters;
            EXPECT_EQ(value(counters, "launches"), static_cast<double>(declared.launches));
            EXPECT_EQ(value(counters, "global_load_sectors") * 32, static_cast<double>(declared.load_bytes));
            EXPECT_EQ(value(counters, "global_store_sectors") * 32, static_cast<double>(declared.store_bytes));
            double launches = 0;
            for (const KernelUse& kernel : counts[i].kernels) {
                launches += kernel.launches;
                EXPECT_GT(kernel.registers.value_or(0), 0);
                EXPECT_LE(kernel.dynamic_shared, declared.shared_bytes);
                EXPECT_GT(kernel.grid[0] * kernel.block[0], 0);
                EXPECT_NE(kernel.name.find("qkprof::"), std::string::npos) << kernel.name;
            }
            EXPECT_EQ(launches, static_cast<double>(declared.launches));
        }
    }
}

TEST_F(GpuTraffic, SharedMemoryIsUsedWithFewConflictsOrNotAtAll) {
    const Problem problem = {.batch = 2, .sequence = 64, .heads = 16};
    for (const char* name : {"fused_tile_shared", "fused_tile_bulk"}) {
        SCOPED_TRACE(name);
        const Counters counters = count(name, problem, CacheState::warm);
        const double wavefronts = value(counters, "shared_wavefronts");
        EXPECT_GT(wavefronts, 0);
        // The hardware also counts as conflicts what waits for the L1 to be free: up to 12 % of the wavefronts were
        // seen.
        EXPECT_LT(value(counters, "bank_conflicts"), 0.15 * wavefronts);
    }
    const Counters none = count("fused_register", problem, CacheState::warm);
    EXPECT_EQ(value(none, "shared_wavefronts"), 0);
    EXPECT_EQ(value(none, "bank_conflicts"), 0);
}

TEST_F(GpuTraffic, FurtherMetricsAreCountedByTheirNames) {
    const std::unique_ptr<Device> own = open_cuda_device(0);
    const std::string said = own->choose_metrics({"sm__ctas_launched.sum", "dram__bytes_read.sum"});
    EXPECT_NE(said.find(" passes, without 2:"), std::string::npos) << said;
    const Problem problem = {.batch = 1, .sequence = 64, .heads = 16};
    const Variant& copy = variant_named("copy");
    const Parameters parameters = copy.standard_parameters();
    const CountJob job = {&copy, &parameters, CacheState::cold};
    const Counts counts = own->load(problem, 0)->count({&job, 1}).front();
    ASSERT_EQ(counts.kernels.size(), 1U);
    EXPECT_EQ(value(counts.counters, "sm__ctas_launched.sum"), static_cast<double>(counts.kernels[0].grid[0]));
    EXPECT_EQ(value(counts.counters, "dram__bytes_read.sum"), value(counts.counters, "dram_read_bytes"));
    try {
        own->choose_metrics({"sm__ctas_lunched.sum"});
        FAIL() << "it was accepted";
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("Did you mean 'sm__ctas_launched.sum'?"), std::string::npos);
    }
}

TEST_F(GpuTraffic, AGraphOfFourKernelsIsFourLaunchesAndOneSubmission) {
    const cuda::Context context(0);
    const Problem problem = {.batch = 1, .sequence = 8, .heads = 4};
    const cuda::DeviceMemory q = cuda::allocate(problem.tensor_bytes());
    const cuda::DeviceMemory out = cuda::allocate(problem.tensor_bytes());
    const Variant& copy = variant_named("copy");
    const Request request = {problem, copy.standard_parameters(), context.info().limits};
    Buffers buffers;
    buffers.q = q.get();
    buffers.q_out = out.get();
    const cuda::GraphExec graph = cuda::instantiate(cuda::capture(context.stream(), [&] {
        for (int i = 0; i < 4; ++i) {
            copy.run({request, buffers, {context.stream()}});
        }
    }));
    const cuda::Activities activities = cuda::ActivityRecorder().record([&] {
        cuda::mark(context.stream());
        cuda::check(cudaGraphLaunch(graph.get(), context.stream()), "launching a graph");
        cuda::mark(context.stream());
        cuda::check(cudaStreamSynchronize(context.stream()), "running a graph");
    });
    const Counters counters = cuda::launch_counters(activities, cuda::sentinel_name, 1);
    EXPECT_EQ(value(counters, "launches"), 4);
    EXPECT_EQ(value(counters, "submissions"), 1);
    const std::vector<KernelUse> kernels = cuda::kernels_of(activities, cuda::sentinel_name, 1);
    ASSERT_EQ(kernels.size(), 1U);
    EXPECT_EQ(kernels.front().launches, 4);
}

}  // namespace
}  // namespace qkprof
