// Every variant of the emulated build, in every type, on the shapes that kernels get wrong: the result against the
// reference, and what the variant declares against what was counted. A new variant is picked up by being registered.

#include "emulator/emulated_device.h"
#include "vocabulary/number.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace qkprof {
namespace {

Problem shape(std::int64_t batch, std::int64_t sequence, std::int64_t heads, std::int64_t head_dim) {
    Problem problem;
    problem.batch = batch;
    problem.sequence = sequence;
    problem.heads = heads;
    problem.head_dim = head_dim;
    return problem;
}

std::string name_of(const Problem& p) {
    return fmt::format("{}x{}x{}x{}/{}+{}", p.batch, p.sequence, p.heads, p.head_dim, name_of(p.dtype), p.offset);
}

// Empty extents, one row, primes, and numbers of rows and heads that no tile divides.
const std::vector<Problem> awkward_shapes = {
    shape(0, 4, 4, 128), shape(2, 0, 4, 128), shape(2, 4, 0, 128), shape(1, 1, 1, 128), shape(1, 1, 1, 64),
    shape(2, 3, 5, 128), shape(3, 7, 13, 128), shape(5, 13, 3, 64), shape(3, 5, 7, 96), shape(2, 3, 3, 256),
    shape(1, 67, 1, 128), shape(7, 1, 16, 128), shape(2, 5, 4, 96), shape(1, 9, 31, 256), shape(3, 4, 33, 64),
    // Head dims that a variant may refuse, never get wrong.
    shape(2, 3, 5, 72), shape(1, 5, 3, 80), shape(2, 3, 4, 112), shape(1, 3, 2, 1024)};

class Variants : public testing::TestWithParam<const Variant*> {
  protected:
    const Variant& variant() const { return *GetParam(); }

    // Verifies and counts, or returns false when the variant refuses, with a reason.
    bool check(const Problem& problem, const Parameters& parameters) {
        SCOPED_TRACE(name_of(problem));
        const Request request = {problem, parameters, device_->info().limits};
        if (const std::string reason = variant().refuses(request); !reason.empty()) {
            return false;
        }
        const std::int64_t scratch = variant().scratch_bytes ? variant().scratch_bytes(request) : 0;
        const auto workload = device_->load(problem, scratch);
        const Verification verification = workload->verify(variant(), parameters);
        EXPECT_EQ(verification.fault, "");
        EXPECT_TRUE(verification.correct)
            << "error norm " << verification.error_norm << ", " << verification.wrong_elements << " wrong elements"
            << (verification.first_wrong
                    ? fmt::format(", the first at batch {}, position {}, head {}, column {}: {} instead of {}",
                                  verification.first_wrong->batch, verification.first_wrong->position,
                                  verification.first_wrong->head, verification.first_wrong->column,
                                  verification.first_wrong->got, verification.first_wrong->expected)
                    : "");
        if (!verification.fault.empty()) {
            return true;
        }
        const Counters counters = workload->count(variant(), parameters, CacheState::cold);
        const auto counted = [&](const char* name) {
            return static_cast<std::int64_t>(counters.find(name)->second.value.value());
        };
        const Declaration declared = variant().declare(request);
        EXPECT_EQ(counted("launches"), declared.launches);
        EXPECT_EQ(counted("shared_bytes"), declared.shared_bytes);
        // A declaration speaks of tensors that begin at a sector; elsewhere an access straddles one sector more.
        if (problem.alignment() >= 32) {
            EXPECT_EQ(counted("global_load_sectors") * 32, declared.load_bytes);
            EXPECT_EQ(counted("global_store_sectors") * 32, declared.store_bytes);
        }
        return true;
    }

    std::unique_ptr<Device> device_ = open_emulated_device({});
};

constexpr DataType all_types[] = {DataType::f32, DataType::bf16, DataType::f16};

TEST_P(Variants, AwkwardShapesInEveryType) {
    int run = 0;
    for (Problem problem : awkward_shapes) {
        for (const DataType dtype : all_types) {
            problem.dtype = dtype;
            run += check(problem, variant().standard_parameters()) ? 1 : 0;
        }
    }
    EXPECT_GT(run, 0) << "it refuses everything";
}

TEST_P(Variants, EveryValueOfEveryParameter) {
    for (const Parameter& parameter : variant().parameters) {
        for (const int value : parameter.values) {
            Parameters parameters = variant().standard_parameters();
            parameters[parameter.name] = value;
            SCOPED_TRACE(fmt::format("{} = {}", parameter.name, value));
            check(shape(2, 13, 7, 128), parameters);
        }
    }
}

TEST_P(Variants, TensorsOneElementOffTheirAlignment) {
    for (const DataType dtype : all_types) {
        Problem problem = shape(2, 3, 5, 128);
        problem.dtype = dtype;
        problem.offset = 1;
        check(problem, variant().standard_parameters());
    }
}

TEST_P(Variants, MorePositionsThanAGridDimensionHolds) {
    Problem problem = shape(1, 65537, 1, 64);
    problem.dtype = DataType::bf16;
    check(problem, variant().standard_parameters());
}

std::vector<const Variant*> all_variants() {
    std::vector<const Variant*> all;
    for (const Variant& variant : variants(Backend::emulated)) {
        all.push_back(&variant);
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Emulated, Variants, testing::ValuesIn(all_variants()),
                         [](const auto& instance) { return instance.param->name; });

}  // namespace
}  // namespace qkprof
