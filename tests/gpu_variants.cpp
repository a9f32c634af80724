// Every variant on a GPU: right on every shape or refused with a reason, with as many launches as it declares, in a
// time that can be true.
#include "gpu_fixture.h"

#include <chrono>
#include <vector>

namespace qkprof {
namespace {

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
    // As tests/variants.cpp has it; the last does not fit in an L2.
    const Problem problems[] = {{.batch = 2, .sequence = 33, .heads = 5},
                                {.batch = 2, .sequence = 33, .heads = 8},
                                {.batch = 2, .sequence = 33, .heads = 8, .dtype = DataType::bf16},
                                {.batch = 2, .sequence = 33, .heads = 4, .head_dim = 256},
                                {.batch = 8, .sequence = 1024, .heads = 16}};
    if (variant().parameters.empty()) {
        GTEST_SKIP() << GetParam() << " has no parameters";
    }
    for (const Parameter& parameter : variant().parameters) {
        for (const int value : parameter.values) {
            SCOPED_TRACE(parameter.name + " " + std::to_string(value));
            Parameters given = variant().standard_parameters();
            given[parameter.name] = value;
            int run = 0;
            for (const Problem& problem : problems) {
                const auto [request, tuned_from, refusal] =
                    resolve(variant(), given, problem, device().info().limits, device().info().description,
                            embedded_tuning(Backend::cuda));
                if (!refusal.empty()) {
                    continue;
                }
                ++run;
                const std::int64_t scratch = variant().scratch_bytes ? variant().scratch_bytes(request) : 0;
                const Verification found = device().load(problem, scratch)->verify(variant(), request.parameters);
                EXPECT_EQ(found.fault, "");
                EXPECT_TRUE(found.correct) << "error norm " << found.error_norm;
            }
            EXPECT_GT(run, 0) << "it is refused everywhere";
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
        const Counters counters = workload->count(variant(), request_for(variant(), problem).parameters, state);
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
    }
}

TEST_P(EveryVariant, TakesAPlausibleTimeInBothStates) {
    const Problem problem = {.batch = 1, .sequence = 1024, .heads = 16};
    const auto workload = load_for(variant(), problem);
    const auto before = std::chrono::steady_clock::now();
    for (const CacheState state : {CacheState::warm, CacheState::cold}) {
        const auto timing = workload->timing(variant(), request_for(variant(), problem).parameters, state);
        for (int sample = 0; sample < 5; ++sample) {
            const double seconds = timing->sample().seconds;
            EXPECT_GT(seconds, 0.5e-6);  // no kernel of 16.8 MB is so quick
            EXPECT_LT(seconds, 1e-3);
        }
        EXPECT_STREQ(timing->timer(), "graph_events");
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
    EXPECT_LT(took.count(), 1.0);
}

}  // namespace
}  // namespace qkprof
