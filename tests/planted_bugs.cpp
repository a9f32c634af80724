// Bugs planted in a right variant, one at a time: the check that every variant must pass has to catch each, and say
// what it is. The variant stages a row by cp.async, reduces and rotates through shared memory, and writes by a bulk
// store.

#define QKPROF_EMULATED_KERNELS
#include "head_vector.h"
#include "variant_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qkprof {
namespace {

enum class Bug {
    none,
    no_async_wait,
    no_first_barrier,
    no_second_barrier,
    no_fence,
    no_bulk_wait,
    uninitialised_sum,
    divergent_shuffle,
    divergent_barrier,
    wrong_partner,
    wrong_sign,
    wrong_position,
    sum_of_half,
    loads_twice,
    stores_twice,
    tail_missing,
    row_missing,
    last_row_missing,
    one_row_too_many,
    out_of_bounds_by_one,
    misaligned,
    writes_input,
    extra_launch,
    undeclared_shared_bytes,
    too_many_threads
};

constexpr unsigned D = 128;
using Pair = Vector<float, 2>;

struct Tile {
    float x[D];
    float y[D];
    float sums[2];
};

// One row a block of 64 threads; thread t has columns 2t and 2t + 1.
void planted_kernel(Arguments a, Bug bug) {
    auto* tile = reinterpret_cast<Tile*>(shared_memory());
    const unsigned row = block();
    const unsigned t = thread();
    if (t < D / 4) {
        async_copy(tile->x + 4 * t, q_at<float>(a, row, D, 4 * t));
        async_commit();
    }
    if (bug != Bug::no_async_wait) {
        async_wait<0>();
    }
    barrier();
    auto x = shared_load(reinterpret_cast<const Pair*>(tile->x) + t);
    if (bug == Bug::loads_twice) {
        x = load(reinterpret_cast<const Pair*>(q_at<float>(a, row, D, 2 * t)));
    }
    const float squares = x.values[0] * x.values[0] + x.values[1] * x.values[1];
    float sum = 0;
    if (bug == Bug::divergent_shuffle) {
        if (lane() < 16) {
            sum = sum_lanes<32>(squares);
        }
    } else {
        sum = bug == Bug::sum_of_half ? 2 * sum_lanes<16>(squares) : sum_lanes<32>(squares);
    }
    if (lane() == 0 && !(bug == Bug::uninitialised_sum && warp() == 1)) {
        shared_store(tile->sums + warp(), sum);
    }
    if (bug != Bug::no_first_barrier && !(bug == Bug::divergent_barrier && warp() == 1)) {
        barrier();
    }
    const float scale = inverse_rms(shared_load(tile->sums) + shared_load(tile->sums + 1), D, a.eps);
    const auto gamma = load<Cache::read_only>(static_cast<const Pair*>(a.gamma_q) + t);
    for (unsigned i = 0; i < 2; ++i) {
        x.values[i] *= scale * gamma.values[i];
    }
    shared_store(reinterpret_cast<Pair*>(tile->y) + t, x);
    if (bug != Bug::no_second_barrier) {
        barrier();
    }
    const unsigned half = D / 4;  // of the pairs of columns
    const bool upper = t >= half;
    const unsigned partner = bug == Bug::wrong_partner ? t ^ 1U : upper ? t - half : t + half;
    const auto other = shared_load(reinterpret_cast<const Pair*>(tile->y) + partner);
    const unsigned position = bug == Bug::wrong_position ? row % a.sequence : position_of(a, row);
    const std::size_t entry = std::size_t{position} * half + t % half;
    const auto cosine = load<Cache::read_only>(static_cast<const Pair*>(a.cos) + entry);
    const auto sine = load<Cache::read_only>(static_cast<const Pair*>(a.sin) + entry);
    for (unsigned i = 0; i < 2; ++i) {
        const float turned = other.values[i] * sine.values[i];
        x.values[i] = x.values[i] * cosine.values[i] + (upper == (bug != Bug::wrong_sign) ? turned : -turned);
    }
    shared_store(reinterpret_cast<Pair*>(tile->x) + t, x);
    if (bug != Bug::no_fence) {
        async_fence();
    }
    barrier();
    if (t != 0 || (bug == Bug::row_missing && row == 1)) {
        return;
    }
    float* out = out_at<float>(a, row, D, 0);
    if (bug == Bug::out_of_bounds_by_one) {
        store(out + D, 1.0F);
    } else if (bug == Bug::misaligned) {
        store(reinterpret_cast<Pair*>(out + 1), Pair{});
    } else if (bug == Bug::writes_input) {
        store(const_cast<float*>(q_at<float>(a, row, D, 0)), 0.0F);
    } else if (bug == Bug::stores_twice) {
        store(out, shared_load(tile->x));
    }
    bulk_store(out, tile->x, bug == Bug::tail_missing ? 4 * D - 16 : 4 * D);
    bulk_commit();
    if (bug != Bug::no_bulk_wait) {
        bulk_wait<0>();
    }
}

Variant planted(Bug bug) {
    return {.name = "planted",
            .family = Family::shared_memory,
            .hypothesis = "the checks catch it",
            .parameters = {},
            .refuses = [](const Request&) { return std::string(); },
            .declare =
                [](const Request& request) {
                    const Problem& p = request.problem;
                    // Each warp asks for half of gamma and, as the two halves use the same entries, all of the tables.
                    return Declaration{.launches = 1,
                                       .load_bytes = p.tensor_bytes() + p.rows() * 3 * p.gamma_bytes(),
                                       .store_bytes = p.tensor_bytes(),
                                       .shared_bytes = sizeof(Tile)};
                },
            .scratch_bytes = {},
            .persisting_bytes = {},
            .run =
                [bug](const Call& call) {
                    LaunchConfig config = {.kernel = "planted",
                                           .blocks = call.request.problem.rows(),
                                           .threads = bug == Bug::too_many_threads ? 2048 : 64,
                                           .shared_bytes = sizeof(Tile)};
                    config.blocks += bug == Bug::one_row_too_many ? 1 : bug == Bug::last_row_missing ? -1 : 0;
                    config.shared_bytes += bug == Bug::undeclared_shared_bytes ? 128 : 0;
                    launch(call.stream, config, planted_kernel, arguments_of(call), bug);
                    if (bug == Bug::extra_launch) {
                        launch(call.stream, config, planted_kernel, arguments_of(call), bug);
                    }
                }};
}

struct Catch {
    Bug bug;
    const char* name;
    const char* complaint;  // what one of the sentences holds
};

class PlantedBugs : public testing::TestWithParam<Catch> {};

std::vector<std::string> complaints_about(Bug bug) {
    const auto device = open_emulated_device({});
    return check_variant(*device, planted(bug), shape(2, 3, 5, D), {}).complaints;
}

TEST(PlantedVariant, IsRightWithoutABug) { EXPECT_THAT(complaints_about(Bug::none), testing::IsEmpty()); }

TEST_P(PlantedBugs, IsCaught) {
    EXPECT_THAT(complaints_about(GetParam().bug), testing::Contains(testing::HasSubstr(GetParam().complaint)));
}

INSTANTIATE_TEST_SUITE_P(
    Each, PlantedBugs,
    testing::ValuesIn(std::vector<Catch>{
        {Bug::no_async_wait, "NoAsyncWait", "loads byte 0 of shared memory before the copy into it was waited for."},
        {Bug::no_first_barrier, "DroppedBarrierAfterTheSum", "loads byte 1028 of shared memory, which nothing"},
        {Bug::no_second_barrier, "DroppedBarrierBeforeTheRotation", "loads byte 768 of shared memory, which nothing"},
        {Bug::no_fence, "NoAsyncFence", "thread 0 stored without an async_fence() after it."},
        {Bug::no_bulk_wait, "NoBulkWait", "exits before the shared memory of its bulk stores has been read"},
        {Bug::uninitialised_sum, "UninitialisedSum", "loads byte 1028 of shared memory, which nothing in the block"},
        {Bug::divergent_shuffle, "DivergentShuffle", "waits at the shuffle at kernels/vocabulary.h:"},
        {Bug::divergent_barrier, "DivergentBarrier",
         "loads byte 1024 of shared memory, which thread 0 wrote with no barrier in between."},
        {Bug::wrong_partner, "WrongPartner", "Batch 0, position 1, h=0, column 0:"},
        {Bug::wrong_sign, "WrongSign", "elements are wrong"},
        {Bug::wrong_position, "WrongPosition", "Batch 0, position 0, h=1, column 0:"},
        {Bug::sum_of_half, "SumOfHalf", "3840 elements are wrong"},
        {Bug::loads_twice, "LoadsTwice", "Loaded bytes: declared 61440, counted 76800."},
        {Bug::stores_twice, "StoresTwice", "Stored bytes: declared 15360, counted 16320."},
        {Bug::tail_missing, "TailMissing", "Batch 0, position 0, h=0, column 124: -nan instead of"},
        {Bug::row_missing, "RowMissing", "Batch 0, position 0, h=1, column 0: -nan instead of"},
        {Bug::last_row_missing, "LastRowMissing", "Batch 1, position 2, h=4, column 0: -nan instead of"},
        {Bug::one_row_too_many, "OneRowTooMany", "block 30, thread 0"},
        {Bug::out_of_bounds_by_one, "OutOfBoundsByOne", "stores 4 bytes at byte 15360 of out, which has 15360 bytes."},
        {Bug::misaligned, "Misaligned", "stores 8 bytes at byte 4 of out, an address that is not a multiple of 8."},
        {Bug::writes_input, "WritesInput", "stores 4 bytes at byte 0 of q, which is an input."},
        {Bug::extra_launch, "ExtraLaunch", "Launches: declared 1, counted 2."},
        {Bug::undeclared_shared_bytes, "UndeclaredSharedBytes", "Shared bytes: declared 1032, counted 1160."},
        {Bug::too_many_threads, "TooManyThreads", "must be a multiple of 32 and at most 1024."}}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace qkprof
