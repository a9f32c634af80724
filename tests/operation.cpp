// The operation in all its forms, on the emulated device: each variant gives the right result and requests what it
// declares, or refuses with the reason.

#include "emulator/buffers.h"
#include "emulator/engine.h"
#include "generated_problems.h"
#include "standard_request.h"
#include "variant_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace qkprof {
namespace {

constexpr DataType all_types[] = {DataType::f32, DataType::bf16, DataType::f16};

bool does_all(const Variant& variant) { return variant.features.size() == std::size(all_features); }

class Operation : public testing::TestWithParam<const Variant*> {
  protected:
    const Variant& variant() const { return *GetParam(); }

    // Whether it ran, and not refused.
    bool check(const Problem& problem, const Parameters& parameters) {
        const Check check = check_variant(*device_, variant(), problem, parameters);
        for (const std::string& complaint : check.complaints) {
            ADD_FAILURE() << problem.text(' ') << ' ' << qkprof::name_of(problem.dtype) << ": " << complaint;
        }
        refused_ = check.refused;
        return check.refused.empty();
    }
    bool check(const Problem& problem) { return check(problem, variant().standard_parameters()); }

    std::unique_ptr<Device> device_ = open_emulated_device({});
    std::string refused_;  // the reason of the last refusal
};

TEST_P(Operation, FullCross) {
    int run = 0;
    for (const Problem& problem : generated_problems()) {
        ASSERT_EQ(problem.fault(), "") << problem.text(' ');
        const bool ran = check(problem);
        run += ran ? 1 : 0;
        if (does_all(variant()) && lies_on_vectors(problem)) {
            EXPECT_TRUE(ran) << "refused " << problem.text(' ');
        }
    }
    EXPECT_EQ(run > 0, does_all(variant())) << "of a problem beyond the first form a variant does all or nothing";
}

TEST_P(Operation, EveryEvenRotaryDim) {
    if (!variant().has(Feature::partial_rotary)) {
        GTEST_SKIP() << "it rotates whole head vectors only";
    }
    int run = 0;
    for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved}) {
        for (std::int64_t rotary = 2; rotary <= 96; rotary += 2) {
            Problem problem = shape(1, 3, 3, 96);
            problem.key_heads = 2;
            problem.pairing = pairing;
            problem.rotary_dim = rotary;
            problem.dtype = all_types[rotary / 2 % 3];
            problem.table_dtype = rotary % 4 == 0 ? problem.dtype : DataType::f32;
            run += check(problem) ? 1 : 0;
        }
    }
    EXPECT_GT(run, 2 * 48 / 8);
}

TEST_P(Operation, EveryValueOfEveryParameterBeyondTheFirstForm) {
    if (!does_all(variant())) {
        GTEST_SKIP() << "it does the first form only";
    }
    Problem problem = shape(2, 13, 7, 128);
    problem.layout = Layout::packed;
    problem.in_place = true;
    problem.dtype = DataType::bf16;
    problem.positions = {.type = PositionType::int32, .order = PositionOrder::scattered};
    for (const Parameter& parameter : variant().parameters) {
        for (const int value : parameter.values) {
            Parameters parameters = variant().standard_parameters();
            parameters[parameter.name] = value;
            SCOPED_TRACE(fmt::format("{} = {}", parameter.name, value));
            int run = 0;
            for (const auto& [heads, key_heads] : {std::pair(7, 3), std::pair(16, 8)}) {
                problem.heads = heads;
                problem.key_heads = key_heads;
                run += check(problem, parameters) ? 1 : 0;
            }
            if (run == 0) {  // a hint for data that the L2 cannot hold
                device_ = open_emulated_device({.l2_bytes = 1 << 17});
                run += check(problem, parameters) ? 1 : 0;
                device_ = open_emulated_device({});
            }
            if (run == 0) {  // there is no such kernel
                EXPECT_THAT(refused_, testing::HasSubstr("compiled for"));
            }
        }
    }
}

// An infinity and a NaN stay in their rows; the largest numbers overflow as f32 does; nothing is divided by zero but
// where the operation says so.
TEST_P(Operation, AwkwardValues) {
    for (const DataType dtype : all_types) {
        for (const Values values : {Values::zeros, Values::largest, Values::smallest, Values::not_finite}) {
            for (const float eps : {1e-6F, 0.0F}) {
                for (const std::int64_t key_heads : {0, 3}) {
                    Problem problem = shape(2, 3, 5, 128);
                    problem.key_heads = key_heads;
                    problem.dtype = dtype;
                    problem.values = values;
                    problem.eps = eps;
                    check(problem);
                }
            }
        }
    }
}

// The last row of a long table is as right as the first.
TEST_P(Operation, TheEndOfALongContext) {
    if (!variant().has(Feature::positions)) {
        GTEST_SKIP() << "it knows no position ids";
    }
    for (const DataType dtype : all_types) {
        Problem problem = shape(1, 5, 4, 128);
        problem.key_heads = 2;
        problem.dtype = dtype;
        problem.context = 131072;
        problem.rotary_base = 1e6;
        problem.positions = {.type = PositionType::int64, .order = PositionOrder::reversed};
        ASSERT_EQ(problem.position_of(0), 131071);
        const Request request = standard_request(variant(), problem, device_->info().limits);
        const bool window_too_large = variant().refusal(request).find("L2 aside") != std::string::npos;
        EXPECT_TRUE(check(problem) || window_too_large) << variant().refusal(request);
    }
}

TEST_P(Operation, InPlaceAHundredTimesGivesTheSameBits) {
    Problem problem = shape(1, 7, 5, 128);
    problem.in_place = true;
    if (does_all(variant())) {
        problem.key_heads = 2;
        problem.layout = Layout::packed;
    }
    problem.dtype = DataType::bf16;
    emulator::Engine engine({});
    const Request request = standard_request(variant(), problem, engine.limits());
    ASSERT_EQ(variant().refusal(request), "");
    emulator::ProblemBuffers buffers(problem, variant().scratch_bytes ? variant().scratch_bytes(request) : 0);
    buffers.fill();
    buffers.enter(engine.memory());
    const auto bytes = static_cast<std::size_t>(problem.q_extent() * problem.element_bytes());
    std::vector<std::byte> first;
    for (int time = 0; time < 100; ++time) {
        buffers.restore();
        variant().run(Call{request, buffers.addresses(), engine.stream()});
        const auto* out = static_cast<const std::byte*>(buffers.addresses().q_out);
        if (first.empty()) {
            first.assign(out, out + bytes);
        }
        ASSERT_EQ(std::memcmp(first.data(), out, bytes), 0) << "in run " << time;
    }
}

std::vector<const Variant*> all_variants() {
    std::vector<const Variant*> all;
    for (const Variant& variant : variants(Backend::emulated)) {
        all.push_back(&variant);
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Emulated, Operation, testing::ValuesIn(all_variants()),
                         [](const auto& instance) { return instance.param->name; });

}  // namespace
}  // namespace qkprof
