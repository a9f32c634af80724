// Shapes as they are written, and the presets.
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

TEST(Presets, HaveTheShapesOfTheFile) {
    EXPECT_EQ(shapes_of("seed", 50 << 20, DataType::f32), (std::vector<Shape>{{128, 1024, 16, 128}}));
    EXPECT_EQ(shapes_of("decode", 50 << 20, DataType::bf16).size(), 4U);
    EXPECT_EQ(shapes_of("2x3x4x64", 50 << 20, DataType::f32), (std::vector<Shape>{{2, 3, 4, 64}}));
    EXPECT_EQ(presets().front().name, "seed");  // the order of the file
    for (const Preset& preset : presets()) {
        EXPECT_FALSE(preset.meaning.empty()) << preset.name;
        EXPECT_FALSE(preset.resolve(1, DataType::f32).empty()) << preset.name;
    }
}

TEST(Presets, FollowTheL2) {
    for (const std::int64_t l2 : {std::int64_t{4} << 20, std::int64_t{50} << 20, std::int64_t{60} << 20}) {
        for (const DataType dtype : {DataType::f32, DataType::bf16}) {
            const auto moved = [&](const char* preset) {
                const Shape s = shapes_of(preset, l2, dtype).at(0);
                return static_cast<double>(2 * s.batch * s.sequence * s.heads * s.head_dim * bytes_of(dtype)) /
                       static_cast<double>(l2);
            };
            EXPECT_NEAR(moved("resident"), 0.25, 0.01);
            EXPECT_NEAR(moved("streaming"), 8.0, 2.1);  // in whole sequences of 1024: 8 or 16 MiB a piece
        }
    }
    EXPECT_EQ(shapes_of("resident", 60 << 20, DataType::f32).at(0), (Shape{1, 960, 16, 128}));
    EXPECT_EQ(shapes_of("streaming", 60 << 20, DataType::f32).at(0), (Shape{30, 1024, 16, 128}));
}

TEST(Presets, UnknownOnesSuggestTheNearest) {
    try {
        shapes_of("residnet", 50 << 20, DataType::f32);
        FAIL();
    } catch (const InputError& error) {
        EXPECT_TRUE(says(error.what(), "Did you mean 'resident'?")) << error.what();
    }
}

TEST(Presets, AFaultyFileIsSaidWithItsLine) {
    const auto error = [](const char* text) -> std::string {
        try {
            parse_presets(text, "file.toml");
        } catch (const InputError& e) {
            return e.what();
        }
        return "no error";
    };
    EXPECT_TRUE(says(error("[a]\nshapes = [\"1x1x1x3\"]"), "file.toml, line 2: The shape '1x1x1x3'"));
    EXPECT_TRUE(says(error("[a\n"), "file.toml, line 1"));
    EXPECT_TRUE(says(error("[a]\n\nbogus = 1"), "file.toml, line 3"));
    EXPECT_TRUE(says(error("[a]\nmeaning = \"none\""), "must have either shapes, or l2_multiple"));
    EXPECT_TRUE(says(error("a = 1"), "file.toml, line 1: 'a' is not a table"));
    EXPECT_TRUE(says(error("[a]\nl2_multiple = 1.0\nheads = 0"), "line 3"));
}

}  // namespace
}  // namespace qkprof
