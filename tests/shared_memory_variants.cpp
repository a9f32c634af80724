// The variants that use shared memory, where it can go wrong: bank conflicts, rings that go round many times, every
// combination of parameters, tensors that begin inside a sector, and a block that does not fit.

#include "emulator/emulated_device.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace qkprof {
namespace {

constexpr DataType all_types[] = {DataType::f32, DataType::bf16, DataType::f16};

Problem shape(std::int64_t batch, std::int64_t sequence, std::int64_t heads, std::int64_t head_dim, DataType dtype) {
    Problem problem;
    problem.batch = batch;
    problem.sequence = sequence;
    problem.heads = heads;
    problem.head_dim = head_dim;
    problem.dtype = dtype;
    return problem;
}

std::string text_of(const Problem& p, const Parameters& parameters) {
    std::string text =
        fmt::format("{}x{}x{}x{}/{}+{}", p.batch, p.sequence, p.heads, p.head_dim, name_of(p.dtype), p.offset);
    for (const auto& [name, value] : parameters) {
        text += fmt::format("/{}:{}", name, value);
    }
    return text;
}

// Every combination of the variant's parameter values.
std::vector<Parameters> combinations(const Variant& variant) {
    std::vector<Parameters> all = {{}};
    for (const Parameter& parameter : variant.parameters) {
        std::vector<Parameters> longer;
        for (const Parameters& shorter : all) {
            for (const int value : parameter.values) {
                longer.push_back(shorter);
                longer.back()[parameter.name] = value;
            }
        }
        all = std::move(longer);
    }
    return all;
}

class SharedMemoryVariants : public testing::TestWithParam<const Variant*> {
  protected:
    const Variant& variant() const { return *GetParam(); }

    // The result is right, what is declared is counted, and no two words of an access share a bank.
    void check(Device& device, const Problem& problem, const Parameters& parameters) const {
        SCOPED_TRACE(text_of(problem, parameters));
        const Request request = {problem, parameters, device.info().limits};
        ASSERT_EQ(variant().refusal(request), "");
        const auto workload = device.load(problem, 0);
        const Verification verification = workload->verify(variant(), parameters);
        ASSERT_EQ(verification.fault, "");
        EXPECT_TRUE(verification.correct) << verification.wrong_elements << " wrong elements";
        const Counters counters = workload->count(variant(), parameters, CacheState::warm);
        const auto counted = [&](const char* name) {
            return static_cast<std::int64_t>(counters.find(name)->second.value.value());
        };
        const Declaration declared = variant().declare(request);
        EXPECT_EQ(counted("global_load_sectors") * 32, declared.load_bytes);
        EXPECT_EQ(counted("global_store_sectors") * 32, declared.store_bytes);
        EXPECT_EQ(counted("shared_bytes"), declared.shared_bytes);
        EXPECT_EQ(counted("bank_conflicts"), 0);
    }
};

TEST_P(SharedMemoryVariants, NoBankConflictsForAnyHeadDimOrNumberOfHeads) {
    const auto device = open_emulated_device({});
    for (const std::int64_t head_dim : {64, 96, 128, 256}) {
        for (const std::int64_t heads : {1, 3, 16}) {
            for (const DataType dtype : all_types) {
                check(*device, shape(2, 37, heads, head_dim, dtype), variant().standard_parameters());
            }
        }
    }
}

// On one multiprocessor a persistent grid is a few warps, which go round their buffers dozens of times.
TEST_P(SharedMemoryVariants, EveryCombinationOfParametersOverManyRounds) {
    const auto device = open_emulated_device({.multiprocessors = 1});
    bool wide = false;
    for (const Parameters& parameters : combinations(variant())) {
        wide = !wide;
        const Problem problem = shape(2, 61, 5, 128, wide ? DataType::f32 : DataType::bf16);
        if (variant().refusal({problem, parameters, device->info().limits}).empty()) {
            check(*device, problem, parameters);
        }
    }
}

TEST_P(SharedMemoryVariants, TensorsThatBeginInsideASector) {
    const auto device = open_emulated_device({});
    for (const std::int64_t head_dim : {64, 96, 128, 256}) {
        for (const DataType dtype : all_types) {
            Problem problem = shape(2, 5, 7, head_dim, dtype);
            problem.offset = 16 / problem.element_bytes();
            if (variant().name == "fused_tile_bulk") {
                EXPECT_NE(variant().refusal({problem, variant().standard_parameters(), device->info().limits}), "");
                continue;
            }
            check(*device, problem, variant().standard_parameters());
            problem.offset /= 2;
            if (variant().refusal({problem, variant().standard_parameters(), device->info().limits}).empty()) {
                check(*device, problem, variant().standard_parameters());
            }
        }
    }
}

TEST_P(SharedMemoryVariants, RefuseABlockThatDoesNotFit) {
    const Request request = {shape(1, 64, 2, 128, DataType::f32),
                             variant().standard_parameters(),
                             {.multiprocessors = 4, .shared_bytes_per_block = 1024, .persisting_l2_bytes = 0}};
    EXPECT_NE(variant().refusal(request).find("1024"), std::string::npos);
}

std::vector<const Variant*> shared_memory_variants() {
    std::vector<const Variant*> all;
    for (const Variant& variant : variants(Backend::emulated)) {
        if (variant.family == Family::shared_memory) {
            all.push_back(&variant);
        }
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Emulated, SharedMemoryVariants, testing::ValuesIn(shared_memory_variants()),
                         [](const auto& instance) { return instance.param->name; });

}  // namespace
}  // namespace qkprof
