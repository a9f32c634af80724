// Shapes as they are written.
#include "shapes.h"

#include "error.h"

#include <gtest/gtest.h>

#include <string>

namespace qkprof {
namespace {

std::string error_of(const std::string& text) {
    try {
        parse_shape(text);
    } catch (const InputError& error) {
        return error.what();
    }
    return "no error";
}

bool says(const std::string& message, const std::string& part) { return message.find(part) != std::string::npos; }

TEST(ParseShape, ReadsFourExtents) {
    EXPECT_EQ(parse_shape("2x1024x16x128"), (Shape{2, 1024, 16, 128}));
    EXPECT_EQ(parse_shape("0x1x0x2"), (Shape{0, 1, 0, 2}));
    EXPECT_EQ(parse_shape("2147483647x1x1x128").text(), "2147483647x1x1x128");
}

TEST(ParseShape, SaysWhereItIsMalformed) {
    EXPECT_TRUE(says(error_of(""), "at character 1: the batch is not a whole number"));
    EXPECT_TRUE(says(error_of("2x3"), "at character 4: an x and the heads are missing"));
    EXPECT_TRUE(says(error_of("2xax16x128"), "at character 3: the sequence is not a whole number"));
    EXPECT_TRUE(says(error_of("2x-3x16x128"), "at character 3: the sequence is negative"));
    EXPECT_TRUE(says(error_of("2x3x16x128x5"), "at character 11: nothing may follow"));
    EXPECT_TRUE(says(error_of("2x3x16x128 "), "nothing may follow"));
    EXPECT_TRUE(says(error_of("2X3X16X128"), "at character 2: an x"));
    EXPECT_TRUE(says(error_of("2x3x16.5x128"), "at character 7"));
    EXPECT_TRUE(says(error_of("99999999999999999999x1x1x128"), "does not fit a 64-bit number"));
}

TEST(ParseShape, RefusesWhatCannotBeAProblem) {
    EXPECT_TRUE(says(error_of("1x1x1x3"), "head_dim is 3"));
    EXPECT_TRUE(says(error_of("1x1x1x0"), "head_dim is 0"));
    EXPECT_TRUE(says(error_of("2147483648x1x1x128"), "more than 2147483647 head vectors"));
    EXPECT_TRUE(says(error_of("65536x65536x1x128"), "more than 2147483647 head vectors"));
    EXPECT_TRUE(says(error_of("4294967296x4294967296x4294967296x128"), "more than 2147483647 head vectors"));
    // 0 rows, and yet tables of more bytes than there are.
    EXPECT_TRUE(says(error_of("0x9223372036854775807x9223372036854775807x128"), "more than 2147483647 head vectors"));
    EXPECT_TRUE(says(error_of("1x1x1x9223372036854775806"), "bytes do not fit a 64-bit number"));
}

TEST(ParseShape, ReadsKeyHeads) {
    EXPECT_EQ(parse_shape("1x64x32+8x128"), (Shape{1, 64, 32, 128, 8}));
    EXPECT_EQ(parse_shape("1x64x32+8x128").text(), "1x64x32+8x128");
    EXPECT_EQ(parse_shape("1x64x32+0x128"), parse_shape("1x64x32x128"));
    EXPECT_EQ(parse_shape("1x64x32+0x128").text(), "1x64x32x128");
    EXPECT_EQ(parse_shape("1x64x0+8x128").problem().all_heads(), 8);
    EXPECT_TRUE(parse_shape("1x64x32x128").problem().is_plain());
}

TEST(ParseShape, SaysWhereKeyHeadsAreMalformed) {
    EXPECT_TRUE(says(error_of("1x2x3+x64"), "at character 7: the number of key heads is not a whole number"));
    EXPECT_TRUE(says(error_of("1x2x3+-4x64"), "at character 7: the number of key heads is negative"));
    EXPECT_TRUE(
        says(error_of("1x2x3+99999999999999999999x64"), "at character 7: the number of key heads does not fit"));
    EXPECT_TRUE(says(error_of("1x2x3+4"), "at character 8: an x and the head_dim are missing"));
    EXPECT_TRUE(says(error_of("1x2x3+4+5x64"), "at character 8: an x and the head_dim are missing"));
    EXPECT_TRUE(says(error_of("1x2+3x4x64"), "at character 4: an x and the heads are missing"));
}

TEST(ParseShape, CountsTheHeadVectorsOfQueryAndKey) {
    EXPECT_EQ(parse_shape("1x1x2147483646+1x2").key_heads, 1);
    EXPECT_TRUE(says(error_of("1x1x2147483646+2x2"), "more than 2147483647 head vectors"));
    EXPECT_TRUE(says(error_of("2147483647x1x1+1x64"), "more than 2147483647 head vectors"));
    EXPECT_TRUE(says(error_of("0x1x1+9223372036854775807x64"), "more than 2147483647 head vectors"));
    // A packed row holds as many value heads as key heads: these bytes fit without them.
    EXPECT_EQ(parse_shape("1x1x1+1x36028797018963968").head_dim, 36028797018963968);
    EXPECT_TRUE(says(error_of("1x1x1+1x54043195528445952"), "bytes do not fit a 64-bit number"));
}

TEST(ExtentsFault, KnowsPaddingAndContext) {
    Problem problem = parse_shape("1x1x1x2").problem();
    EXPECT_EQ(extents_fault(problem), "");
    problem.row_padding = std::int64_t{1} << 57U;
    EXPECT_TRUE(says(extents_fault(problem), "bytes do not fit"));
    problem.row_padding = 0;
    problem.context = std::int64_t{1} << 56U;
    EXPECT_TRUE(says(extents_fault(problem), "bytes do not fit"));
}

}  // namespace
}  // namespace qkprof
