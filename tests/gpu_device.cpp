// The CUDA device on a GPU: what it says of itself, what it refuses and survives, and that it notices what a kernel may
// not do.
#include "gpu_fixture.h"
#include "input.h"
#include "reference.h"

#include <cuda_runtime.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace qkprof {
namespace {

using GpuDevice = Gpu;

TEST_F(GpuDevice, SaysWhatItIs) {
    const DeviceInfo& info = device().info();
    EXPECT_EQ(info.id, "cuda:0");
    EXPECT_EQ(info.description, discover_cuda_gpus().gpus.front().second);
    EXPECT_EQ(info.backend, Backend::cuda);
    EXPECT_TRUE(info.has_clock);
    EXPECT_GT(info.limits.multiprocessors, 0);
    EXPECT_GT(info.limits.shared_bytes_per_block, 48 << 10);
    EXPECT_GT(info.l2_bytes, 1 << 20);
    EXPECT_GT(info.memory_bytes, std::int64_t{1} << 30);
    for (const auto& [name, text] : info.facts) {
        EXPECT_FALSE(text.empty()) << name;
    }
    EXPECT_THROW(open_cuda_device(1000), CannotMeasure);
}

TEST_F(GpuDevice, RefusesWhatDoesNotFitItsMemory) {
    const Problem problem = {.batch = 1 << 14, .sequence = 1024, .heads = 64};
    EXPECT_GT(device().bytes_needed(problem, 0), device().info().memory_bytes);
    try {
        device().load(problem, 0);
        FAIL() << "it was loaded";
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("1024.00 GiB"), std::string::npos) << error.what();
    }
    const Problem small = {.batch = 1, .sequence = 8, .heads = 4};
    EXPECT_THROW(device().load(small, std::int64_t{1} << 50), InputError);
    EXPECT_NO_THROW(device().load(small, 0));
}

TEST_F(GpuDevice, ARefusedLaunchIsAFaultAndTheNextCallWorks) {
    const Problem problem = {.batch = 1, .sequence = 8, .heads = 4};
    const Variant& copy = variant_named("copy");
    const auto workload = load_for(copy, problem);
    const Verification refused = workload->verify(copy, {{"threads", 4096}});
    EXPECT_NE(refused.fault.find("4096 threads"), std::string::npos) << refused.fault;
    EXPECT_THROW(workload->timing(copy, {{"threads", 4096}}, CacheState::warm), LaunchError);
    if (workload->count(copy, copy.standard_parameters(), CacheState::warm).at("launches").value) {
        const Counters none = workload->count(copy, {{"threads", 4096}}, CacheState::warm);
        for (const auto& [name, counter] : none) {
            EXPECT_FALSE(counter.value.has_value()) << name;
            EXPECT_NE(counter.reason.find("4096 threads"), std::string::npos) << name << ": " << counter.reason;
        }
        const Counters counters = workload->count(copy, copy.standard_parameters(), CacheState::warm);
        EXPECT_EQ(counters.at("launches").value, 1.0) << counters.at("launches").reason;
    }
    EXPECT_TRUE(workload->verify(copy, copy.standard_parameters()).correct);
    EXPECT_GT(workload->timing(copy, copy.standard_parameters(), CacheState::warm)->sample().seconds, 0);
}

// A fault of a kernel ends the context, so it is planted in a process of its own.
TEST_F(GpuDevice, AFaultThatLosesTheGpuIsSaidInASentence) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_EXIT(
        {
            const Variant& copy = variant_named("copy");
            Variant planted = copy;
            planted.run = [&](const Call& call) {
                Buffers buffers = call.buffers;
                buffers.q_out = nullptr;
                copy.run({call.request, buffers, call.stream});
            };
            const auto workload = device().load({.batch = 1, .sequence = 8, .heads = 4}, 0);
            try {
                workload->verify(planted, copy.standard_parameters());
            } catch (const CannotMeasure& error) {
                std::fputs(error.what(), stderr);
                std::_Exit(static_cast<int>(Exit::cannot_measure));
            }
            std::_Exit(0);
        },
        testing::ExitedWithCode(static_cast<int>(Exit::cannot_measure)),
        "copy on 1x8x4x128 f32 faulted and the GPU is lost");
}

// What verify() compared, brought to the host: q is the host's to the bit, and the host's judgement is the GPU's.
TEST_F(GpuDevice, InputsAndJudgementAreThoseOfTheHost) {
    for (const DataType dtype : all_types) {
        SCOPED_TRACE(name_of(dtype));
        const Problem problem = {.batch = 2, .sequence = 31, .heads = 5, .dtype = dtype, .seed = 99};
        const Variant& fused = variant_named("fused_register");
        Variant watched = fused;
        Buffers buffers;
        watched.run = [&](const Call& call) {
            buffers = call.buffers;
            fused.run(call);
        };
        const auto workload = load_for(fused, problem);
        const Verification on_gpu = workload->verify(watched, fused.standard_parameters());
        const auto fetched = [](const void* from, std::int64_t bytes) {
            std::vector<std::byte> to(static_cast<std::size_t>(bytes));
            EXPECT_EQ(cudaMemcpy(to.data(), from, to.size(), cudaMemcpyDeviceToHost), cudaSuccess);
            return to;
        };
        const std::vector<std::byte> q = fetched(buffers.q, problem.tensor_bytes());
        const std::vector<std::byte> out = fetched(buffers.q_out, problem.tensor_bytes());
        const auto expect_input = [&]<class T>(T) {
            const auto* filled = reinterpret_cast<const T*>(q.data());
            for (std::int64_t i = 0; i < problem.elements(); ++i) {
                const T made = from_float<T>(input_value(problem.seed, static_cast<std::uint64_t>(i)));
                ASSERT_EQ(to_float(filled[i]), to_float(made)) << "element " << i;
            }
        };
        dtype == DataType::f32    ? expect_input(float{})
        : dtype == DataType::bf16 ? expect_input(bf16{})
                                  : expect_input(f16{});
        const Constants constants = constants_of(problem);
        const Verification on_host = verify_on_host(problem, {.q = q.data(),
                                                              .q_out = const_cast<std::byte*>(out.data()),
                                                              .gamma_q = constants.gamma_q.data(),
                                                              .cos = constants.tables.data(),
                                                              .sin = constants.tables.data() + problem.table_bytes()});
        EXPECT_TRUE(on_gpu.correct);
        EXPECT_TRUE(on_host.correct);
        EXPECT_GT(on_gpu.error_norm, 0);
        EXPECT_NEAR(on_gpu.error_norm / on_host.error_norm, 1.0, 1e-6);
    }
}

// The verdict on `copy` where its call is replaced by what `run` does with the call.
class GpuVerdict : public Gpu {
  protected:
    static inline const Problem problem = {.batch = 2, .sequence = 9, .heads = 4};

    static Verification verdict(const std::function<void(const Variant&, const Call&)>& run) {
        const Variant& copy = variant_named("copy");
        Variant planted = copy;
        planted.run = [&](const Call& call) { run(copy, call); };
        const auto workload = device().load(problem, 256);
        Verification found = workload->verify(planted, copy.standard_parameters());
        EXPECT_TRUE(workload->verify(copy, copy.standard_parameters()).correct);  // and what came before is mended
        return found;
    }
};

TEST_F(GpuVerdict, NothingWrittenIsAllWrong) {
    const Verification found = verdict([](const Variant&, const Call&) {});
    EXPECT_EQ(found.fault, "");
    EXPECT_FALSE(found.correct);
    EXPECT_EQ(found.wrong_elements, problem.elements());
    ASSERT_TRUE(found.first_wrong);
    EXPECT_EQ(found.first_wrong->batch + found.first_wrong->position + found.first_wrong->head, 0);
    EXPECT_TRUE(std::isnan(found.first_wrong->got));
}

TEST_F(GpuVerdict, WritingPastTheEndIsAFault) {
    const Verification found = verdict([](const Variant& copy, const Call& call) {
        Buffers shifted = call.buffers;
        shifted.q_out = static_cast<char*>(shifted.q_out) + 16;
        copy.run({call.request, shifted, call.stream});
    });
    EXPECT_NE(found.fault.find("byte(s) past the end of out"), std::string::npos) << found.fault;
}

TEST_F(GpuVerdict, WritingBeforeTheBeginningIsAFault) {
    const Verification found = verdict([](const Variant& copy, const Call& call) {
        Buffers shifted = call.buffers;
        shifted.q_out = static_cast<char*>(shifted.q_out) - 32;
        copy.run({call.request, shifted, call.stream});
    });
    EXPECT_NE(found.fault.find("byte(s) before the beginning of out"), std::string::npos) << found.fault;
}

TEST_F(GpuVerdict, ChangingTheInputIsAFault) {
    const Verification found = verdict([](const Variant& copy, const Call& call) {
        copy.run(call);
        Buffers swapped = call.buffers;
        swapped.q = call.buffers.q_out;
        swapped.q_out = const_cast<void*>(call.buffers.q);
        Request halved = call.request;
        halved.problem.batch = 1;
        swapped.q = static_cast<const char*>(swapped.q) + halved.problem.tensor_bytes();
        copy.run({halved, swapped, call.stream});
    });
    EXPECT_NE(found.fault.find("of q, its input"), std::string::npos) << found.fault;
}

TEST_F(GpuVerdict, OneWrongRowIsFoundAndNamed) {
    const Verification found = verdict([](const Variant& copy, const Call& call) {
        copy.run(call);
        Request one_row = call.request;  // row 38 is replaced by row 0
        one_row.problem.batch = one_row.problem.sequence = one_row.problem.heads = 1;
        Buffers buffers = call.buffers;
        buffers.q_out = static_cast<float*>(buffers.q_out) + std::ptrdiff_t{38} * 128;
        copy.run({one_row, buffers, call.stream});
    });
    EXPECT_EQ(found.fault, "");
    EXPECT_FALSE(found.correct);
    EXPECT_EQ(found.wrong_elements, 128);
    ASSERT_TRUE(found.first_wrong);
    EXPECT_EQ(found.first_wrong->batch, 1);
    EXPECT_EQ(found.first_wrong->position, 0);
    EXPECT_EQ(found.first_wrong->head, 2);
    EXPECT_EQ(found.first_wrong->column, 0);
    EXPECT_NE(found.first_wrong->got, found.first_wrong->expected);
}

// The judge on the GPU against a variant that is right for another input: tables of the neighbouring position.
TEST_F(GpuVerdict, TheWrongPositionIsFound) {
    const Variant& fused = variant_named("fused_register");
    Variant planted = fused;
    planted.run = [&](const Call& call) {
        Buffers shifted = call.buffers;
        shifted.cos =
            static_cast<const float*>(shifted.cos) + 64;  // the last position reads the first of sin: in bounds
        fused.run({call.request, shifted, call.stream});
    };
    const auto workload = device().load(problem, 256);
    const Verification found = workload->verify(planted, fused.standard_parameters());
    EXPECT_EQ(found.fault, "");
    EXPECT_FALSE(found.correct);
    EXPECT_GT(found.error_norm, 1e-3);
    EXPECT_TRUE(workload->verify(fused, fused.standard_parameters()).correct);
}

// 2,097,152 rows of 128 f32: poisoning, the call, the judgement and the checks of the guards.
TEST_F(GpuVerdict, JudgesAGibibyteQuickly) {
    const Problem large = {.batch = 128, .sequence = 1024, .heads = 16};
    const Variant& fused = variant_named("fused_register");
    const auto workload = load_for(fused, large);
    EXPECT_TRUE(workload->verify(fused, fused.standard_parameters()).correct);
    const auto before = std::chrono::steady_clock::now();
    EXPECT_TRUE(workload->verify(fused, fused.standard_parameters()).correct);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
    RecordProperty("milliseconds", std::to_string(took.count() * 1e3));
    EXPECT_LT(took.count(), 0.1);
}

}  // namespace
}  // namespace qkprof
