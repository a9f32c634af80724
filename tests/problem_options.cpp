// The options of a problem: what they set, and that they can be told from a problem.
#include "problem_options.h"

#include "error.h"

#include <gtest/gtest.h>

#include <sstream>

namespace qkprof {
namespace {

// What the options make of a problem.
Problem applied(const ProblemOptions& options, Problem problem) {
    for (const Setting& setting : parse(options)) {
        setting(problem);
    }
    return problem;
}

// The options in a text without quotes, as a shell would hand them over.
ProblemOptions typed(const std::string& text) {
    ProblemOptions options;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        bool known = false;
        for (const ProblemFlag& flag : problem_flags()) {
            if (word == flag.name) {
                options.*flag.value = known = true;
            }
        }
        for (const ProblemOption& option : problem_options()) {
            if (word == option.name) {
                known = static_cast<bool>(words >> options.*option.value);
            }
        }
        EXPECT_TRUE(known) << word;
    }
    return options;
}

const Problem shape = {.batch = 1, .sequence = 6, .heads = 4, .key_heads = 2, .head_dim = 64, .dtype = DataType::bf16};

TEST(ProblemOptions, NoneIsTheFirstForm) {
    EXPECT_EQ(applied({}, shape), shape);
    EXPECT_EQ(text_of(ProblemOptions()), "");
    EXPECT_EQ(text_of(options_of(shape, {})), "");
    EXPECT_EQ(text_of(options_of(shape, typed("--layout separate --positions implicit --seed 1"))), "");
}

TEST(ProblemOptions, EachSetsItsField) {
    const Problem p = applied(
        typed("--seed 7 --eps 0 --rotary-base 1e6 --offset 3 --layout packed --row-padding 8 --pairing interleaved "
              "--rotary-dim 32 --positions int32:repeated --context 128 --table-dtype storage --gamma-dtype bf16 "
              "--values "
              "not-finite --in-place --gemma"),
        shape);
    Problem expected = shape;
    expected.seed = 7;
    expected.eps = 0;
    expected.rotary_base = 1e6;
    expected.offset = 3;
    expected.layout = Layout::packed;
    expected.row_padding = 8;
    expected.pairing = Pairing::interleaved;
    expected.rotary_dim = 32;
    expected.positions = {.type = PositionType::int32, .order = PositionOrder::repeated};
    expected.context = 128;
    expected.table_dtype = DataType::bf16;
    expected.gamma_dtype = DataType::bf16;
    expected.values = Values::not_finite;
    expected.in_place = true;
    expected.gemma = true;
    EXPECT_EQ(p, expected);
}

// So that the command that `qkprof trace` prints traces this problem, whatever made it.
TEST(ProblemOptions, AProblemIsToldByItsOptions) {
    const ProblemOptions all = typed(
        "--seed 7 --eps 1e-5 --rotary-base 1000000 --offset 3 --layout packed --row-padding 8 --pairing interleaved "
        "--rotary-dim 32 --positions int64:scattered --context 131072 --table-dtype storage --gamma-dtype storage "
        "--values smallest --in-place --gemma");
    const Problem problem = applied(all, shape);
    EXPECT_EQ(applied(typed(text_of(options_of(problem, all))), shape), problem);
    Problem of_a_model = shape;  // by no option
    of_a_model.eps = 1e-5F;
    of_a_model.rotary_base = 5e6;
    of_a_model.rotary_dim = 16;
    of_a_model.context = 40960;
    of_a_model.gemma = true;
    EXPECT_EQ(text_of(options_of(of_a_model, {})),
              " --eps 1e-05 --rotary-base 5000000 --rotary-dim 16 --context 40960 --gemma");
    EXPECT_EQ(applied(typed(text_of(options_of(of_a_model, {}))), shape), of_a_model);
    Problem of_a_preset = shape;  // likewise
    of_a_preset.layout = Layout::packed;
    of_a_preset.positions = {.type = PositionType::int32, .order = PositionOrder::reversed};
    of_a_preset.table_dtype = DataType::bf16;
    EXPECT_EQ(text_of(options_of(of_a_preset, {})), " --layout packed --positions int32:reversed --table-dtype bf16");
    EXPECT_EQ(applied(typed(text_of(options_of(of_a_preset, {}))), shape), of_a_preset);
}

TEST(ProblemOptions, AWordIsQuotedForAShellWhereItMustBe) {
    EXPECT_EQ(quoted("int64:@ids.txt"), "int64:@ids.txt");
    EXPECT_EQ(quoted("1x64x32+8x128"), "1x64x32+8x128");
    EXPECT_EQ(quoted("int64:@my ids"), "'int64:@my ids'");
    EXPECT_EQ(quoted("fused_*"), "'fused_*'");
    EXPECT_EQ(quoted("it's"), "'it'\\''s'");
    EXPECT_EQ(quoted(""), "''");
    ProblemOptions options;
    options.positions = "int64:@$HOME";
    EXPECT_EQ(text_of(options), " --positions 'int64:@$HOME'");
}

}  // namespace
}  // namespace qkprof
