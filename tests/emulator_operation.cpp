// The emulated device on the operation in all its forms: what a variant of the tests computes is right on every
// problem, and each way in which the forms invite a kernel to err is found.
#include "generated_problems.h"
#include "scalar_variant.h"
#include "variant_check.h"

#include "error.h"
#include "profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace qkprof {
namespace {

using testing::HasSubstr;

Verification verified(const Problem& problem, const Variant& variant) {
    return open_emulated_device({})->load(problem, 0)->verify(variant, {});
}

// Two query heads and a key head of 64, packed, with a gap of 8, in place, at ids that are not the tokens'.
Problem everything() {
    return {.batch = 1,
            .sequence = 5,
            .heads = 2,
            .key_heads = 1,
            .head_dim = 64,
            .layout = Layout::packed,
            .row_padding = 8,
            .in_place = true,
            .rotary_dim = 48,
            .positions = {.type = PositionType::int32, .order = PositionOrder::reversed},
            .context = 9,
            .gemma = true};
}

TEST(TheScalarVariant, IsRightOnEveryProblem) {
    const auto device = open_emulated_device({});
    for (const Problem& problem : generated_problems()) {
        const Verification found = device->load(problem, 0)->verify(scalar_variant(), {});
        EXPECT_EQ(found.fault, "") << words_for(problem);
        EXPECT_TRUE(found.correct) << words_for(problem) << ": " << found.wrong_elements << " wrong, the norm is "
                                   << found.error_norm;
    }
}

TEST(TheScalarVariant, IsRightOnAwkwardValues) {
    for (const DataType dtype : {DataType::f32, DataType::bf16, DataType::f16}) {
        for (const Values values : {Values::zeros, Values::largest, Values::smallest, Values::not_finite}) {
            for (const float eps : {1e-6F, 0.0F}) {
                for (const bool in_place : {false, true}) {
                    Problem problem = everything();
                    problem.dtype = dtype;
                    problem.values = values;
                    problem.eps = eps;
                    problem.in_place = in_place;
                    const Verification found = verified(problem, scalar_variant());
                    EXPECT_TRUE(found.correct) << words_for(problem) << " eps " << eps << ": " << found.fault << ' '
                                               << found.wrong_elements << " wrong, the norm is " << found.error_norm;
                    EXPECT_TRUE(std::isfinite(found.error_norm));
                }
            }
        }
    }
}

struct Found {
    Slip slip;
    const char* name;
    const char* fault;  // what the sentence holds; empty: the elements are wrong
};

class Slips : public testing::TestWithParam<Found> {};

TEST_P(Slips, AreFoundInPlaceAndOutOfPlace) {
    for (const bool in_place : {false, true}) {
        for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved}) {
            for (const DataType dtype : {DataType::f32, DataType::bf16, DataType::f16}) {
                Problem problem = everything();
                problem.in_place = in_place;
                problem.pairing = pairing;
                problem.dtype = dtype;
                ASSERT_TRUE(verified(problem, scalar_variant()).correct);
                problem.values = GetParam().slip == Slip::spreads_a_nan ? Values::not_finite : Values::normal;
                const Verification found = verified(problem, scalar_variant(GetParam().slip));
                if (GetParam().slip == Slip::reads_what_it_has_overwritten && !in_place) {
                    EXPECT_TRUE(found.correct);
                    continue;
                }
                EXPECT_FALSE(found.correct) << words_for(problem);
                if (*GetParam().fault == '\0') {
                    EXPECT_EQ(found.fault, "");
                    EXPECT_GT(found.wrong_elements, 0);
                    ASSERT_TRUE(found.first_wrong.has_value());
                    EXPECT_EQ(std::isnan(found.first_wrong->got),
                              GetParam().slip == Slip::spreads_a_nan ||
                                  (GetParam().slip == Slip::leaves_the_keys && !in_place));
                } else {
                    EXPECT_THAT(found.fault, HasSubstr(GetParam().fault));
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Each, Slips,
    testing::ValuesIn(std::vector<Found>{
        {Slip::writes_a_value_head, "WritesAValueHead", "A kernel wrote 5 element(s) of "},
        {Slip::writes_the_padding, "WritesThePadding", "that are not its to write: value heads or padding."},
        {Slip::takes_the_gamma_of_k, "TakesTheGammaOfK", ""},
        {Slip::stands_at_the_next_token, "StandsAtTheNextToken", "of positions, which has 20 bytes."},
        {Slip::pairs_the_other_way, "PairsTheOtherWay", ""},
        {Slip::rotates_it_all, "RotatesItAll", ""},
        {Slip::forgets_the_offset_of_gamma, "ForgetsTheOffsetOfGamma", ""},
        {Slip::reads_past_the_tables, "ReadsPastTheTables", "of sin, which has 864 bytes."},
        {Slip::reads_what_it_has_overwritten, "ReadsWhatItHasOverwritten", ""},
        {Slip::leaves_the_keys, "LeavesTheKeys", ""},
        {Slip::spreads_a_nan, "SpreadsANan", ""}}),
    [](const auto& instance) { return instance.param.name; });

// Without ids the next token's position is in the tables, and the results are wrong.
TEST(SlipsAlone, TheNextTokensPosition) {
    Problem problem = everything();
    problem.positions = {};
    const Verification found = verified(problem, scalar_variant(Slip::stands_at_the_next_token));
    EXPECT_EQ(found.fault, "");
    EXPECT_GT(found.wrong_elements, 100);
}

TEST(SlipsAlone, PaddingOfSeparateTensorsIsNamedByTheTensor) {
    Problem problem = everything();
    problem.layout = Layout::separate;
    const auto fault = [&] { return verified(problem, scalar_variant(Slip::writes_the_padding)).fault; };
    EXPECT_THAT(fault(), HasSubstr("A kernel wrote 5 element(s) of q that"));
    problem.in_place = false;
    EXPECT_THAT(fault(), HasSubstr("A kernel wrote 5 element(s) of q_out that"));
    problem.key_heads = 0;
    EXPECT_THAT(fault(), HasSubstr("A kernel wrote 5 element(s) of out that"));
}

TEST(SlipsAlone, AWrongKeyHeadIsCalledOne) {
    Problem problem = everything();
    problem.in_place = false;
    const Verification found = verified(problem, scalar_variant(Slip::leaves_the_keys));
    ASSERT_TRUE(found.first_wrong.has_value());
    EXPECT_EQ(found.first_wrong->head, 2);
    EXPECT_EQ(found.wrong_elements, 5 * 64);
    EXPECT_EQ(head_text(problem, *found.first_wrong), "key head 0");
    Measurement measurement;
    measurement.problem = problem;
    measurement.verification = found;
    EXPECT_THAT(error_of(measurement), HasSubstr("the first at b=0 s=0 key head 0 d=0: got"));
    EXPECT_EQ(head_text(problem, {.head = 1}), "query head 1");
    EXPECT_EQ(head_text({}, {.head = 1}), "h=1");
}

// Each verification begins with the same inputs, whatever the last call made of them, and so does each count.
TEST(InPlace, EachVerificationBeginsWithTheInputs) {
    const Problem problem = everything();
    const auto device = open_emulated_device({});
    const auto workload = device->load(problem, 0);
    const double norm = workload->verify(scalar_variant(), {}).error_norm;
    EXPECT_GT(norm, 0);
    Variant wrong = scalar_variant(Slip::takes_the_gamma_of_k);
    for (const char* name : {"again", "and again"}) {
        wrong.name = std::string("wrong ") + name;
        EXPECT_FALSE(workload->verify(wrong, {}).correct);
        Variant right = scalar_variant();
        right.name = name;
        EXPECT_EQ(workload->verify(right, {}).error_norm, norm);
        const Counters counters = workload->count(right, {}, CacheState::warm);
        EXPECT_EQ(counters.at("global_load_sectors").value,
                  workload->count(scalar_variant(), {}, CacheState::cold).at("global_load_sectors").value);
    }
}

TEST(InPlace, NeedsAsMuchMemoryAsOutOfPlace) {
    const auto device = open_emulated_device({});
    Problem problem = everything();
    const std::int64_t tensors = 2 * 5 * (4 * 64 + 8) * 4;
    const std::int64_t constants = 2 * 64 * 4 + 2 * 9 * 24 * 4 + 5 * 4;
    EXPECT_EQ(device->bytes_needed(problem, 100), tensors + constants + 100);
    problem.in_place = false;
    EXPECT_EQ(device->bytes_needed(problem, 100), tensors + constants + 100);
    problem.layout = Layout::separate;
    EXPECT_EQ(device->bytes_needed(problem, 0), 2 * 5 * (3 * 64 + 2 * 8) * 4 + constants);
}

// A copy of the head vectors, each to its place.
Variant copying(bool flips_a_bit) {
    Variant variant = scalar_variant();
    variant.family = Family::ceiling;
    variant.run = [flips_a_bit](const Call& call) {
        const Problem& p = call.request.problem;
        const auto bytes = static_cast<std::size_t>(p.head_dim * p.element_bytes());
        for (std::int64_t row = 0; row < p.rows(); ++row) {
            const std::int64_t head = row % p.all_heads();
            const bool of_k = head >= p.heads;
            const std::int64_t first = (row / p.all_heads() * (of_k ? p.k_stride() : p.q_stride()) +
                                        (of_k ? head - p.heads : head) * p.head_dim) *
                                       p.element_bytes();
            std::memmove(static_cast<std::byte*>(of_k ? call.buffers.k_out : call.buffers.q_out) + first,
                         static_cast<const std::byte*>(of_k ? call.buffers.k : call.buffers.q) + first, bytes);
        }
        if (flips_a_bit) {
            static_cast<std::byte*>(call.buffers.k_out)[5] ^= std::byte{1};
        }
    };
    return variant;
}

TEST(ACeiling, MustGiveTheBitsOfQAndKAtTheirPlaces) {
    for (const Layout layout : {Layout::separate, Layout::packed}) {
        for (const bool in_place : {false, true}) {
            for (const Values values : {Values::normal, Values::not_finite}) {
                Problem problem = everything();
                problem.layout = layout;
                problem.in_place = in_place;
                problem.values = values;
                EXPECT_TRUE(verified(problem, copying(false)).correct);
                const Verification found = verified(problem, copying(true));
                EXPECT_EQ(found.fault, "");
                EXPECT_EQ(found.wrong_elements, 1);
                ASSERT_TRUE(found.first_wrong.has_value());
                EXPECT_EQ(head_text(problem, *found.first_wrong), "key head 0");
                EXPECT_EQ(found.first_wrong->column, 1);
            }
        }
    }
}

TEST(ReadOnly, IsWhatTheOperationTakesBesideQAndK) {
    const auto fault_of = [](const void* Buffers::*field) {
        Variant variant = scalar_variant();
        variant.run = [field](const Call& call) {
            const auto write = [](const void* to) { store(static_cast<float*>(const_cast<void*>(to)), 1.0F); };
            launch(call.stream, {.kernel = "writes", .blocks = 1, .threads = 32}, +write, call.buffers.*field);
        };
        Problem problem = everything();
        problem.in_place = false;
        return verified(problem, variant).fault;
    };
    EXPECT_THAT(fault_of(&Buffers::gamma_q), HasSubstr("of gamma_q, which is an input."));
    EXPECT_THAT(fault_of(&Buffers::gamma_k), HasSubstr("of gamma_k, which is an input."));
    EXPECT_THAT(fault_of(&Buffers::cos), HasSubstr("of cos, which is an input."));
    EXPECT_THAT(fault_of(&Buffers::sin), HasSubstr("of sin, which is an input."));
    EXPECT_THAT(fault_of(&Buffers::positions), HasSubstr("of positions, which is an input."));
    EXPECT_THAT(fault_of(&Buffers::q), HasSubstr("of qkv, which is an input."));
}

// A kernel that wrote between the results did finish: it has counts.
TEST(Counting, GoesOnAfterATrespass) {
    const auto device = open_emulated_device({});
    const auto workload = device->load(everything(), 0);
    const Variant variant = scalar_variant(Slip::writes_the_padding);
    EXPECT_NE(workload->verify(variant, {}).fault, "");
    EXPECT_EQ(workload->count(variant, {}, CacheState::cold).at("launches").value, 1.0);
}

TEST(Loading, RefusesPositionsOutsideTheTables) {
    const auto device = open_emulated_device({});
    for (const PositionType type : {PositionType::int32, PositionType::int64}) {
        for (const std::int64_t id : {-1, 9}) {
            Problem problem = everything();
            problem.positions = listed_positions(type, {0, 1, id, 3, 8});
            try {
                device->load(problem, 0);
                FAIL() << "it was loaded with position " << id;
            } catch (const InputError& error) {
                EXPECT_THAT(error.what(), HasSubstr("the position of token 2 is " + std::to_string(id)));
                EXPECT_THAT(error.what(), testing::StartsWith(words_for(problem) + " cannot be run: "));
            }
        }
        Problem problem = everything();
        problem.positions = listed_positions(type, {0, 8, 3, 3, 8});
        EXPECT_TRUE(verified(problem, scalar_variant()).correct);
        problem.positions.list = nullptr;  // as in a profile that was read
        EXPECT_THROW(device->load(problem, 0), InputError);
    }
}

}  // namespace
}  // namespace qkprof
