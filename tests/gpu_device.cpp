// The CUDA device on a GPU: every variant is right, launches what it declares and takes a time that can be true; and
// the device notices what a kernel may not do.
#include "cuda/cuda_device.h"
#include "error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace qkprof {
namespace {

std::string text_of(const Problem& p) {
    return std::to_string(p.batch) + "x" + std::to_string(p.sequence) + "x" + std::to_string(p.heads) + "x" +
           std::to_string(p.head_dim) + " " + name_of(p.dtype) + " offset " + std::to_string(p.offset);
}

const Variant& variant_named(const std::string& name) {
    const auto& all = variants(Backend::cuda);
    const auto found = std::find_if(all.begin(), all.end(), [&](const Variant& v) { return v.name == name; });
    if (found == all.end()) {
        throw std::out_of_range("no variant " + name);
    }
    return *found;
}

// The first GPU, opened once for all tests of the process; each test is skipped where there is none.
class Gpu : public testing::Test {
  protected:
    void SetUp() override {
        const Discovery discovery = discover_cuda_gpus();
        if (discovery.gpus.empty()) {
            ASSERT_FALSE(discovery.no_gpu_reason.empty());
            GTEST_SKIP() << discovery.no_gpu_reason;
        }
    }

    static Device& device() {
        static const std::unique_ptr<Device> opened = open_cuda_device(0);
        return *opened;
    }

    static Request request_for(const Variant& variant, const Problem& problem) {
        return {problem, variant.standard_parameters(), device().info().limits};
    }

    static std::int64_t scratch_for(const Variant& variant, const Problem& problem) {
        return variant.scratch_bytes ? variant.scratch_bytes(request_for(variant, problem)) : 0;
    }

    static std::unique_ptr<Workload> load_for(const Variant& variant, const Problem& problem) {
        return device().load(problem, scratch_for(variant, problem));
    }

    // Loads the problem, verifies the variant and expects it to be right; false where the variant refuses it.
    static bool expect_correct(const Variant& variant, const Problem& problem) {
        SCOPED_TRACE(text_of(problem));
        if (const std::string reason = variant.refuses(request_for(variant, problem)); !reason.empty()) {
            return false;
        }
        const Verification found = load_for(variant, problem)->verify(variant, variant.standard_parameters());
        EXPECT_EQ(found.fault, "");
        EXPECT_TRUE(found.correct) << "error norm " << found.error_norm << ", wrong elements " << found.wrong_elements;
        if (found.first_wrong) {
            const WrongElement& w = *found.first_wrong;
            ADD_FAILURE() << "first wrong at " << w.batch << "," << w.position << "," << w.head << "," << w.column
                          << ": got " << w.got << ", expected " << w.expected;
        }
        return true;
    }
};

class EveryVariant : public Gpu, public testing::WithParamInterface<std::string> {
  protected:
    static const Variant& variant() { return variant_named(GetParam()); }
};

std::vector<std::string> all_names() {
    std::vector<std::string> names;
    for (const Variant& variant : variants(Backend::cuda)) {
        names.push_back(variant.name);
    }
    return names;
}

INSTANTIATE_TEST_SUITE_P(Variants, EveryVariant, testing::ValuesIn(all_names()),
                         [](const auto& parameter) { return parameter.param; });

constexpr std::array all_types = {DataType::f32, DataType::bf16, DataType::f16};

TEST_P(EveryVariant, IsRightOnAwkwardShapes) {
    struct Shape {
        std::int64_t batch, sequence, heads;
    };
    constexpr std::array shapes = {Shape{0, 4, 4},     Shape{2, 0, 4},     Shape{2, 4, 0},     Shape{1, 1, 1},
                                   Shape{1, 1, 7},     Shape{3, 5, 7},     Shape{2, 17, 3},    Shape{1, 127, 5},
                                   Shape{70001, 1, 1}, Shape{1, 65537, 1}, Shape{1, 1, 65539}, Shape{2, 64, 16}};
    int verified = 0;
    for (const DataType dtype : all_types) {
        for (const std::int64_t head_dim : {64, 96, 128, 256}) {
            for (const Shape& shape : shapes) {
                verified += expect_correct(variant(), {.batch = shape.batch,
                                                       .sequence = shape.sequence,
                                                       .heads = shape.heads,
                                                       .head_dim = head_dim,
                                                       .dtype = dtype,
                                                       .seed = 7});
            }
        }
    }
    EXPECT_GT(verified, 0);
}

TEST_P(EveryVariant, IsRightOnOrRefusesUnalignedPointers) {
    for (const DataType dtype : all_types) {
        for (const std::int64_t offset : {1, 2, 4, 8}) {
            expect_correct(variant(), {.batch = 2, .sequence = 5, .heads = 3, .dtype = dtype, .offset = offset});
        }
    }
}

TEST_P(EveryVariant, IsRightAtEachValueOfEachParameter) {
    const Problem problem = {.batch = 2, .sequence = 33, .heads = 5};
    for (const Parameter& parameter : variant().parameters) {
        for (const int value : parameter.values) {
            SCOPED_TRACE(parameter.name + " " + std::to_string(value));
            Request request = request_for(variant(), problem);
            request.parameters[parameter.name] = value;
            if (!variant().refuses(request).empty()) {
                continue;
            }
            const std::int64_t scratch = variant().scratch_bytes ? variant().scratch_bytes(request) : 0;
            const Verification found = device().load(problem, scratch)->verify(variant(), request.parameters);
            EXPECT_EQ(found.fault, "");
            EXPECT_TRUE(found.correct) << "error norm " << found.error_norm;
        }
    }
}

// 2^31 elements and a few rows: a 32-bit element offset, and long before that a 32-bit byte offset, goes wrong.
TEST_P(EveryVariant, IsRightPast2To31Elements) {
    const Problem problem = {.batch = 967, .sequence = 1021, .heads = 17, .head_dim = 128, .dtype = DataType::bf16};
    static_assert(967LL * 1021 * 17 * 128 > (1LL << 31));
    const std::int64_t needed = device().bytes_needed(problem, scratch_for(variant(), problem));
    if (needed > device().info().memory_bytes) {
        GTEST_SKIP() << "needs " << needed << " bytes of device memory; free: " << device().info().memory_bytes;
    }
    EXPECT_TRUE(expect_correct(variant(), problem));
}

TEST_P(EveryVariant, LaunchesWhatItDeclares) {
    const Problem problem = {.batch = 2, .sequence = 64, .heads = 16};
    const Declaration declared = variant().declare(request_for(variant(), problem));
    const auto workload = load_for(variant(), problem);
    for (const CacheState state : {CacheState::warm, CacheState::cold}) {
        const Counters counters = workload->count(variant(), variant().standard_parameters(), state);
        const Counter& launches = counters.at("launches");
        if (!launches.value) {
            ASSERT_FALSE(launches.reason.empty());
            GTEST_SKIP() << launches.reason;
        }
        EXPECT_EQ(launches.value, static_cast<double>(declared.launches));
        EXPECT_EQ(counters.at("submissions").value, static_cast<double>(declared.launches));
        EXPECT_EQ(counters.at("transfers").value, 0.0);
        EXPECT_EQ(counters.at("shared_bytes").value, static_cast<double>(declared.shared_bytes));
        EXPECT_GE(counters.at("registers").value, 8.0);
        EXPECT_LE(counters.at("registers").value, 255.0);
        EXPECT_FALSE(counters.at("dram_read_bytes").value.has_value());
        EXPECT_FALSE(counters.at("dram_read_bytes").reason.empty());
    }
}

TEST_P(EveryVariant, TakesAPlausibleTimeInBothStates) {
    const Problem problem = {.batch = 1, .sequence = 1024, .heads = 16};
    const auto workload = load_for(variant(), problem);
    const auto before = std::chrono::steady_clock::now();
    for (const CacheState state : {CacheState::warm, CacheState::cold}) {
        const auto timing = workload->timing(variant(), variant().standard_parameters(), state);
        for (int sample = 0; sample < 5; ++sample) {
            const double seconds = timing->sample();
            EXPECT_GT(seconds, 0.5e-6);  // no kernel of 16.8 MB is so quick
            EXPECT_LT(seconds, 1e-3);
        }
        EXPECT_STREQ(timing->timer(), "graph_events");
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
    EXPECT_LT(took.count(), 1.0);
}

// Bytes a second that the memory cannot exceed, from its clock and width as the device states them; two transfers a
// clock.
double peak_bandwidth(const DeviceInfo& info) {
    double megahertz = 0;
    double bits = 0;
    for (const auto& [name, text] : info.facts) {
        if (name == "memory_clock_mhz") {
            megahertz = std::stod(text);
        } else if (name == "memory_bus_bits") {
            bits = std::stod(text);
        }
    }
    return megahertz * 1e6 * bits / 8 * 2;
}

using GpuTiming = Gpu;

TEST_F(GpuTiming, CopyOfOneGibibyteRunsBelowThePeakAndNotFarBelow) {
    const Problem problem = {.batch = 64, .sequence = 1024, .heads = 16};  // 512 MiB in, 512 MiB out
    const Variant& copy = variant_named("copy");
    const double peak = peak_bandwidth(device().info());
    ASSERT_GT(peak, 1e11);
    const auto workload = load_for(copy, problem);
    for (const CacheState state : {CacheState::warm, CacheState::cold}) {
        const auto timing = workload->timing(copy, copy.standard_parameters(), state);
        const double rate = 2.0 * static_cast<double>(problem.tensor_bytes()) / timing->sample();
        EXPECT_LT(rate, peak) << name_of(state);
        EXPECT_GT(rate, 0.6 * peak) << name_of(state);
    }
}

// A problem that fits the L2 runs from it when warm, also when another variant's samples come between.
TEST_F(GpuTiming, WarmIsFasterThanColdAndSamplesDoNotDisturbOneAnother) {
    const Problem problem = {.batch = 1, .sequence = 512, .heads = 16};  // 8.4 MB in all
    const Variant& copy = variant_named("copy");
    const auto workload = load_for(copy, problem);
    const auto warm = workload->timing(copy, copy.standard_parameters(), CacheState::warm);
    const auto cold = workload->timing(copy, copy.standard_parameters(), CacheState::cold);
    std::vector<double> alone;
    std::vector<double> mixed;
    for (int i = 0; i < 9; ++i) {
        alone.push_back(warm->sample());
    }
    for (int i = 0; i < 9; ++i) {
        EXPECT_GT(cold->sample(), alone.front());
        mixed.push_back(warm->sample());
    }
    std::sort(alone.begin(), alone.end());
    std::sort(mixed.begin(), mixed.end());
    EXPECT_NEAR(mixed[4] / alone[4], 1.0, 0.1);
}

TEST_F(GpuTiming, AnEmptyCallHasNoTime) {
    const Problem problem = {.batch = 0, .sequence = 4, .heads = 4};
    const Variant& copy = variant_named("copy");
    const auto workload = load_for(copy, problem);
    for (const CacheState state : {CacheState::warm, CacheState::cold}) {
        EXPECT_THROW(workload->timing(copy, copy.standard_parameters(), state), CannotMeasure);
    }
}

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
    EXPECT_THROW(workload->count(copy, {{"threads", 4096}}, CacheState::warm), LaunchError);
    EXPECT_TRUE(workload->verify(copy, copy.standard_parameters()).correct);
    EXPECT_GT(workload->timing(copy, copy.standard_parameters(), CacheState::warm)->sample(), 0);
}

// The verdict on `copy` where its call is replaced by what `run` does with the call.
class GpuVerdict : public Gpu {
  protected:
    static constexpr Problem problem = {.batch = 2, .sequence = 9, .heads = 4};

    static Verification verdict(const std::function<void(const Variant&, const Call&)>& run) {
        const Variant& copy = variant_named("copy");
        Variant planted = copy;
        planted.run = [&](const Call& call) { run(copy, call); };
        const auto workload = device().load(problem, 256);
        const Verification found = workload->verify(planted, copy.standard_parameters());
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
        shifted.out = static_cast<char*>(shifted.out) + 16;
        copy.run({call.request, shifted, call.stream});
    });
    EXPECT_NE(found.fault.find("16 byte(s) past the end of out"), std::string::npos) << found.fault;
}

TEST_F(GpuVerdict, WritingBeforeTheBeginningIsAFault) {
    const Verification found = verdict([](const Variant& copy, const Call& call) {
        Buffers shifted = call.buffers;
        shifted.out = static_cast<char*>(shifted.out) - 32;
        copy.run({call.request, shifted, call.stream});
    });
    EXPECT_NE(found.fault.find("32 byte(s) before the beginning of out"), std::string::npos) << found.fault;
}

TEST_F(GpuVerdict, ChangingTheInputIsAFault) {
    const Verification found = verdict([](const Variant& copy, const Call& call) {
        copy.run(call);
        Buffers swapped = call.buffers;
        swapped.q = call.buffers.out;
        swapped.out = const_cast<void*>(call.buffers.q);
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
        buffers.out = static_cast<float*>(buffers.out) + 38 * 128;
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
        shifted.cos += 64;  // the last position reads the first of sin: in bounds
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
