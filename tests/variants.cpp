// Every variant of the emulated build, in every type, on the shapes that kernels get wrong: the result against the
// reference, and what the variant declares against what was counted. A new variant is picked up by being registered.

#include "variant_check.h"

#include "emulator/buffers.h"
#include "emulator/engine.h"
#include "reference.h"
#include "standard_request.h"

#include <gtest/gtest.h>

namespace qkprof {
namespace {

// Empty extents, one row, primes, and numbers of rows and heads that no tile divides.
const std::vector<Problem> awkward_shapes = {
    shape(0, 4, 4, 128), shape(2, 0, 4, 128), shape(2, 4, 0, 128), shape(1, 1, 1, 128), shape(1, 1, 1, 64),
    shape(2, 3, 5, 128), shape(3, 7, 13, 128), shape(5, 13, 3, 64), shape(3, 5, 7, 96), shape(2, 3, 3, 256),
    shape(1, 67, 1, 128), shape(7, 1, 16, 128), shape(2, 5, 4, 96), shape(1, 9, 31, 256), shape(3, 4, 33, 64),
    // Head dims that a variant may refuse, never get wrong.
    shape(2, 3, 5, 72), shape(1, 5, 3, 80), shape(2, 3, 4, 112), shape(1, 3, 2, 1024)};

constexpr DataType all_types[] = {DataType::f32, DataType::bf16, DataType::f16};

class Variants : public testing::TestWithParam<const Variant*> {
  protected:
    const Variant& variant() const { return *GetParam(); }

    // Whether it ran, and not refused.
    bool check(const Problem& problem, const Parameters& parameters) {
        const Check check = check_variant(*device_, variant(), problem, parameters);
        for (const std::string& complaint : check.complaints) {
            ADD_FAILURE() << name_of(problem) << ": " << complaint;
        }
        return check.refused.empty();
    }

    std::unique_ptr<Device> device_ = open_emulated_device({});
};

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

// On a number of heads that no run of them divides and on one that all do, in both widths of a type, and on the widest
// head dim; and with an L2 that cannot hold the data, which some hints are for.
TEST_P(Variants, EveryValueOfEveryParameter) {
    Problem in_16_bits = shape(2, 13, 8, 128);
    in_16_bits.dtype = DataType::bf16;
    const Problem problems[] = {shape(2, 13, 7, 128), shape(2, 13, 8, 128), in_16_bits, shape(2, 13, 4, 256)};
    for (const Parameter& parameter : variant().parameters) {
        for (const int value : parameter.values) {
            Parameters parameters = variant().standard_parameters();
            parameters[parameter.name] = value;
            SCOPED_TRACE(fmt::format("{} = {}", parameter.name, value));
            int run = 0;
            for (const Problem& problem : problems) {
                run += check(problem, parameters) ? 1 : 0;
            }
            if (run == 0) {
                device_ = open_emulated_device({.l2_bytes = 1 << 17});
                run += check(problems[0], parameters) ? 1 : 0;
                device_ = open_emulated_device({});
            }
            EXPECT_GT(run, 0) << "it is refused everywhere";
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
    EXPECT_TRUE(check(problem, variant().standard_parameters()));
}

// The same counts on every run, in whatever memory the host gave.
TEST_P(Variants, CountsAreDeterministic) {
    const auto count = [&](const Problem& problem, CacheState state) {
        const auto device = open_emulated_device({.l2_bytes = 1 << 18, .multiprocessors = 3});
        const Request request = standard_request(variant(), problem, device->info().limits);
        const auto workload = device->load(problem, variant().scratch_bytes ? variant().scratch_bytes(request) : 0);
        std::map<std::string, double> values;
        for (const auto& [name, counter] : workload->count(variant(), request.parameters, state)) {
            values[name] = counter.value.value_or(-1);
        }
        return values;
    };
    const Problem problem = shape(2, 33, 7, 128);
    for (const CacheState state : {CacheState::cold, CacheState::warm}) {
        EXPECT_EQ(count(problem, state), count(problem, state));
    }
}

// Tensors of more than 2^31 elements, of which the last blocks of each launch are run.
void check_last_rows(const Variant& variant, const Problem& problem) {
    ASSERT_GT(problem.q_extent(), std::int64_t{1} << 31);
    emulator::Engine engine({});
    const Request request = standard_request(variant, problem, engine.limits());
    ASSERT_EQ(variant.refusal(request), "");
    emulator::ProblemBuffers buffers(problem, variant.scratch_bytes ? variant.scratch_bytes(request) : 0);
    buffers.enter(engine.memory());
    const auto run_last_blocks = [&](std::int64_t count) {
        engine.reset_totals();
        engine.only_last_blocks(count);
        variant.run(Call{request, buffers.addresses(), engine.stream()});
    };
    constexpr std::int64_t most_rows_a_block = 64;
    run_last_blocks(0);
    if (engine.totals().blocks < engine.totals().launches * problem.rows() / most_rows_a_block) {
        GTEST_SKIP() << "its blocks each work on rows from all over the tensor: one cannot be run without the others";
    }
    // Launches of fewer elements a block need more blocks for the same rows.
    constexpr std::int64_t compared = 64;
    constexpr std::int64_t blocks = 256;
    buffers.fill(problem.q_extent() - 2 * blocks * most_rows_a_block * problem.head_dim, problem.q_extent());
    run_last_blocks(blocks);
    Comparison comparison;
    const Operands<bf16> operands(problem, buffers.compared());
    for (std::int64_t row = problem.rows() - compared; row < problem.rows(); ++row) {
        if (variant.family == Family::ceiling) {
            compare_copied_row(operands, row, comparison);
        } else {
            compare_row(operands, row, comparison);
        }
    }
    EXPECT_EQ(comparison.wrong, 0) << "the first at element " << comparison.first_wrong;
}

TEST_P(Variants, OffsetsBeyondTwoToThe31) {
    Problem problem = shape(2, 4, (1 << 21) + 3, 128);
    problem.dtype = DataType::bf16;
    check_last_rows(variant(), problem);
}

TEST_P(Variants, OffsetsBeyondTwoToThe31InPackedRows) {
    Problem problem = shape(700000, 1, 16, 128);
    problem.key_heads = 4;
    problem.layout = Layout::packed;
    problem.dtype = DataType::bf16;
    if (!variant().has(Feature::packed)) {
        GTEST_SKIP() << "it has no way to do packed rows";
    }
    check_last_rows(variant(), problem);
}

// Each element is an access of its own: not even those can be counted in 32 bits.
TEST_P(Variants, AccessesBeyondTwoToThe32) {
    Problem problem = shape(900000, 1, 32, 128);
    problem.key_heads = 4;
    problem.layout = Layout::packed;
    problem.row_padding = 1;
    problem.dtype = DataType::bf16;
    const Request request = standard_request(variant(), problem, device_->info().limits);
    if (const std::string reason = variant().refusal(request); !reason.empty()) {
        GTEST_SKIP() << reason;
    }
    check_last_rows(variant(), problem);
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
