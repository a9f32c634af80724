// The inputs: their distribution, and that they are the same on every machine.
#include "input.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

namespace qkprof {
namespace {

TEST(InputValue, HasMeanZeroVarianceOneAndShortTails) {
    constexpr int count = 1 << 20;
    double sum = 0;
    double squares = 0;
    double fourths = 0;
    double largest = 0;
    for (int i = 0; i < count; ++i) {
        const auto value = static_cast<double>(input_value(3, static_cast<std::uint64_t>(i)));
        sum += value;
        squares += value * value;
        fourths += value * value * value * value;
        largest = std::max(largest, std::abs(value));
    }
    EXPECT_NEAR(sum / count, 0.0, 5e-3);
    EXPECT_NEAR(squares / count, 1.0, 5e-3);
    EXPECT_NEAR(fourths / count, 2.7, 0.02);  // Irwin-Hall of 4: kurtosis 3 - 6/5/4
    EXPECT_LE(largest, 131070 * 2.6429e-5);
    EXPECT_GT(largest, 3.0);
}

TEST(InputValue, IsPinned) {  // a change would make recorded profiles incomparable
    EXPECT_EQ(random_bits(1, 0), 17629623748622851610U);
    EXPECT_EQ(input_value(1, 0), 0x1.32f7260000000p-1F);
}

TEST(InputValue, SeedsAndIndicesDiffer) {
    std::set<std::uint64_t> seen;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        for (std::uint64_t index = 0; index < 100; ++index) {
            seen.insert(random_bits(seed, index));
        }
    }
    EXPECT_EQ(seen.size(), 10000U);
}

// The numbers of one of the constants, in f32.
std::vector<float> numbers(const std::vector<std::byte>& bytes, DataType dtype = DataType::f32) {
    return for_storage(dtype, [&]<class T>(T) {
        std::vector<float> values;
        for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
            values.push_back(to_float(reinterpret_cast<const T*>(bytes.data())[i]));
        }
        return values;
    });
}

TEST(Tables, AreThoseOfTheFormula) {
    const Problem problem = {.batch = 1, .sequence = 3000, .heads = 1, .head_dim = 64};
    const std::vector<float> tables = numbers(constants_of(problem).tables);
    ASSERT_EQ(tables.size(), 2 * 3000U * 32);
    const float* cos = tables.data();
    const float* sin = cos + std::ptrdiff_t{3000} * 32;
    EXPECT_EQ(cos[0], 1.0F);
    EXPECT_EQ(sin[0], 0.0F);
    for (const int position : {1, 1023, 1024, 2999}) {
        for (const int i : {0, 1, 31}) {
            const double angle = position * std::pow(10000.0, -2.0 * i / 64);
            EXPECT_EQ(cos[position * 32 + i], static_cast<float>(std::cos(angle)));
            EXPECT_EQ(sin[position * 32 + i], static_cast<float>(std::sin(angle)));
        }
    }
}

// Rounded from a number that is right to 1e-10, far below the last place of f32.
TEST(Tables, OfALongContextAreAsRightInTheLastRowAsInTheFirst) {
    const Problem problem = {.sequence = 1, .heads = 1, .rotary_base = 1e6, .context = 131072};
    const std::vector<float> tables = numbers(constants_of(problem).tables);
    constexpr std::int64_t pairs = 64;
    ASSERT_EQ(tables.size(), 2U * 131072 * pairs);
    for (const std::int64_t position : {1, 2, 4096, 65535, 131070, 131071}) {
        for (std::int64_t i = 0; i < pairs; ++i) {
            const long double angle =
                static_cast<long double>(position) * std::pow(1e6L, -2.0L * static_cast<long double>(i) / 128.0L);
            const auto entry = static_cast<std::size_t>(position * pairs + i);
            for (const auto& [got, right] : {std::pair{tables[entry], std::cos(angle)},
                                             std::pair{tables[entry + tables.size() / 2], std::sin(angle)}}) {
                const float step = std::nextafter(std::abs(got), 2.0F) - std::abs(got);
                EXPECT_LE(std::abs(static_cast<long double>(got) - right), step / 2 + 1e-10) << position << ' ' << i;
            }
        }
    }
}

TEST(Tables, FollowTheBaseTheRotaryDimAndTheContext) {
    Problem problem = {.sequence = 2, .head_dim = 4, .rotary_base = 100};
    EXPECT_EQ(numbers(constants_of(problem).tables)[3], static_cast<float>(std::cos(0.1)));
    problem.head_dim = 10;
    problem.rotary_dim = 4;
    problem.context = 7;
    const std::vector<float> tables = numbers(constants_of(problem).tables);
    ASSERT_EQ(tables.size(), 2U * 7 * 2);
    EXPECT_EQ(tables[3], static_cast<float>(std::cos(0.1)));
    EXPECT_EQ(tables[27], static_cast<float>(std::sin(0.6)));
}

TEST(Tables, InTheStorageTypeAreThoseInF32Rounded) {
    Problem problem = {.sequence = 50, .heads = 1, .key_heads = 1, .dtype = DataType::bf16};
    const Constants wide = constants_of(problem);
    problem.table_dtype = DataType::bf16;
    problem.gamma_dtype = DataType::bf16;
    const Constants narrow = constants_of(problem);
    const auto rounded = [](const std::vector<std::byte>& bytes) {
        std::vector<float> values = numbers(bytes);
        for (float& value : values) {
            value = to_float(from_float<bf16>(value));
        }
        return values;
    };
    EXPECT_EQ(numbers(narrow.tables, DataType::bf16), rounded(wide.tables));
    EXPECT_EQ(numbers(narrow.gamma_q, DataType::bf16), rounded(wide.gamma_q));
    EXPECT_EQ(numbers(narrow.gamma_k, DataType::bf16), rounded(wide.gamma_k));
    EXPECT_NE(numbers(wide.tables), rounded(wide.tables));
}

TEST(Gamma, IsDifferentInEachColumnAndFollowsTheSeed) {
    Problem problem = {.key_heads = 1, .head_dim = 256};
    const std::vector<float> q = numbers(constants_of(problem).gamma_q);
    const std::vector<float> k = numbers(constants_of(problem).gamma_k);
    for (const std::vector<float>& gamma : {q, k}) {
        EXPECT_EQ(std::set<float>(gamma.begin(), gamma.end()).size(), 256U);
        EXPECT_GE(*std::min_element(gamma.begin(), gamma.end()), 0.45F);
        EXPECT_LE(*std::max_element(gamma.begin(), gamma.end()), 1.55F);
    }
    EXPECT_NE(q, k);
    problem.gemma = true;
    const std::vector<float> less_one = numbers(constants_of(problem).gamma_q);
    for (std::size_t i = 0; i < q.size(); ++i) {
        EXPECT_NEAR(less_one[i], q[i] - 1, 1e-7);
    }
    problem.gemma = false;
    problem.seed = 2;
    EXPECT_NE(numbers(constants_of(problem).gamma_q), q);
    EXPECT_NE(numbers(constants_of(problem).gamma_k), k);
    problem.key_heads = 0;
    EXPECT_TRUE(constants_of(problem).gamma_k.empty());
}

TEST(PositionIds, AreThoseOfTheProblem) {
    Problem problem = {.batch = 3, .sequence = 5, .context = 11};
    EXPECT_TRUE(constants_of(problem).positions.empty());
    for (const PositionOrder order : {PositionOrder::ordered, PositionOrder::reversed, PositionOrder::scattered}) {
        problem.positions = {.type = PositionType::int32, .order = order};
        const std::vector<std::byte> narrow = constants_of(problem).positions;
        problem.positions.type = PositionType::int64;
        const std::vector<std::byte> wide = constants_of(problem).positions;
        ASSERT_EQ(narrow.size(), 60U);
        ASSERT_EQ(wide.size(), 120U);
        for (std::int64_t token = 0; token < 15; ++token) {
            EXPECT_EQ(reinterpret_cast<const std::int32_t*>(narrow.data())[token], problem.position_of(token));
            EXPECT_EQ(reinterpret_cast<const std::int64_t*>(wide.data())[token], problem.position_of(token));
        }
    }
}

TEST(Tensors, LieAsTheProblemSays) {
    Problem problem = {.batch = 2, .sequence = 3, .heads = 4, .key_heads = 2, .head_dim = 8, .row_padding = 16};
    const std::vector<Tensor> separate = tensors_of(problem);
    ASSERT_EQ(separate.size(), 2U);
    EXPECT_EQ(separate[0].elements(), 6 * 48);
    EXPECT_EQ(separate[1].elements(), 6 * 32);
    EXPECT_EQ(separate[1].gaps(), 6 * 16);
    EXPECT_EQ(separate[1].gap(0), 16);
    EXPECT_EQ(separate[1].gap(15), 31);
    EXPECT_EQ(separate[1].gap(16), 48);
    EXPECT_NE(separate[0].value_at(0), separate[1].value_at(0));
    problem.layout = Layout::packed;
    const std::vector<Tensor> packed = tensors_of(problem);
    ASSERT_EQ(packed.size(), 1U);
    EXPECT_EQ(packed[0].elements(), 6 * 80);
    EXPECT_EQ(packed[0].gap(0), 48);
    EXPECT_STREQ(packed[0].name, "qkv");
    EXPECT_EQ(packed[0].value_at(47), input_value(1, 47));
    EXPECT_STREQ(tensors_of({}).front().result_name, "out");
}

TEST(Tensors, HoldTheValuesInTheHeadVectorsAlone) {
    Problem problem = {.sequence = 4, .heads = 2, .key_heads = 1, .head_dim = 8, .row_padding = 8};
    const auto used = [&](DataType dtype, Values values) {
        problem.dtype = dtype;
        problem.values = values;
        std::set<float> seen;
        for (const Tensor& tensor : tensors_of(problem)) {
            for (std::int64_t i = 0; i < tensor.elements(); ++i) {
                const float value = tensor.value_at(i);
                if (i % tensor.stride < tensor.used) {
                    seen.insert(value);
                } else {
                    EXPECT_EQ(value, input_value(tensor.stream, static_cast<std::uint64_t>(i)));
                }
            }
        }
        return seen;
    };
    EXPECT_EQ(used(DataType::f32, Values::zeros), std::set<float>({0.0F}));
    EXPECT_EQ(used(DataType::f32, Values::largest), std::set<float>({-0x1.fffffep127F, 0x1.fffffep127F}));
    EXPECT_EQ(used(DataType::bf16, Values::largest), std::set<float>({-0x1.fep127F, 0x1.fep127F}));
    EXPECT_EQ(used(DataType::f16, Values::largest), std::set<float>({-65504.0F, 65504.0F}));
    EXPECT_EQ(used(DataType::f32, Values::smallest), std::set<float>({-0x1p-149F, 0x1p-149F}));
    EXPECT_EQ(to_float(from_float<bf16>(*used(DataType::bf16, Values::smallest).begin())), -0x1p-133F);
    EXPECT_EQ(to_float(from_float<f16>(*used(DataType::f16, Values::smallest).begin())), -0x1p-24F);
}

// The rows that hold what is not finite, as row numbers of the problem.
TEST(Tensors, AreFiniteButForOneInfinityAndOneNan) {
    for (const Layout layout : {Layout::separate, Layout::packed}) {
        for (const auto& [heads, key_heads] : {std::pair{4, 2}, std::pair{4, 0}, std::pair{0, 2}}) {
            const Problem problem = {.sequence = 4,
                                     .heads = heads,
                                     .key_heads = key_heads,
                                     .head_dim = 8,
                                     .layout = layout,
                                     .values = Values::not_finite};
            std::vector<std::string> found;
            for (const Tensor& tensor : tensors_of(problem)) {
                for (std::int64_t i = 0; i < tensor.elements(); ++i) {
                    const float value = tensor.value_at(i);
                    if (!std::isfinite(value)) {
                        const std::int64_t head = i % tensor.stride / 8 + (std::string(tensor.name) == "k" ? heads : 0);
                        found.push_back((std::isnan(value) ? "nan " : "inf ") + std::to_string(i / tensor.stride) +
                                        ' ' + std::to_string(head));
                    }
                }
            }
            std::sort(found.begin(), found.end());
            EXPECT_EQ(found, std::vector<std::string>({"inf 1 0", "nan 2 " + std::to_string(problem.all_heads() - 1)}));
        }
    }
}

}  // namespace
}  // namespace qkprof
