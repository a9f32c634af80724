// The presets of shapes and models, and their files.
#include "presets.h"

#include "error.h"
#include "variant.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

namespace qkprof {
namespace {

bool says(const std::string& message, const std::string& part) { return message.find(part) != std::string::npos; }

TEST(Presets, HaveTheShapesOfTheFile) {
    EXPECT_EQ(problems_of("seed", 50 << 20, DataType::f32), std::vector{Shape({128, 1024, 16, 128}).problem()});
    EXPECT_EQ(problems_of("decode", 50 << 20, DataType::bf16).size(), 4U);
    EXPECT_EQ(problems_of("decode", 50 << 20, DataType::bf16).at(3).dtype, DataType::bf16);
    EXPECT_EQ(problems_of("2x3x4+1x64", 50 << 20, DataType::f32), std::vector{Shape({2, 3, 4, 64, 1}).problem()});
    EXPECT_EQ(presets().front().name, "seed");  // the order of the file
    for (const Preset& preset : presets()) {
        EXPECT_FALSE(preset.meaning.empty()) << preset.name;
        EXPECT_FALSE(preset.resolve(1, DataType::f32).empty()) << preset.name;
    }
}

// A key of a problem is the option of the command line, and is understood as that.
TEST(Presets, MayHoldProblemsWithOptions) {
    const std::vector<Preset> all = parse_presets(
        "[a]\nmeaning = \"both kinds\"\nshapes = [\"2x3x4x64\", {shape = \"1x6x4+2x64\", layout = \"packed\", "
        "in-place = true, gemma = false, pairing = \"interleaved\", rotary-dim = 32, row-padding = 8, eps = 1e-5, "
        "positions = \"int64:scattered\", context = 128, table-dtype = \"storage\", gamma-dtype = \"storage\"}]",
        "file.toml");
    const std::vector<Problem> narrow = all.at(0).resolve(1, DataType::bf16);
    ASSERT_EQ(narrow.size(), 2U);
    Problem expected = Shape({2, 3, 4, 64}).problem();
    expected.dtype = DataType::bf16;
    EXPECT_EQ(narrow[0], expected);
    expected = Shape({1, 6, 4, 64, 2}).problem();
    expected.dtype = expected.table_dtype = expected.gamma_dtype = DataType::bf16;
    expected.layout = Layout::packed;
    expected.in_place = true;
    expected.pairing = Pairing::interleaved;
    expected.rotary_dim = 32;
    expected.row_padding = 8;
    expected.eps = 1e-5F;
    expected.positions = {.type = PositionType::int64, .order = PositionOrder::scattered};
    expected.context = 128;
    EXPECT_EQ(narrow[1], expected);
    EXPECT_EQ(all.at(0).resolve(1, DataType::f32).at(1).table_dtype, DataType::f32);
    EXPECT_EQ(text_of(all.at(0).problems.at(1).options),
              " --eps 1e-05 --layout packed --row-padding 8 --pairing interleaved --rotary-dim 32 --positions "
              "int64:scattered --context 128 --table-dtype storage --gamma-dtype storage --in-place");
}

// What scripts/gate counts is worth as much as what it reaches.
TEST(Presets, TheGateHasProblemsOfEveryKind) {
    std::set<Feature> features;
    std::set<std::int64_t> head_dims;
    std::set<PositionType> positions;
    bool plain_in_place = false;
    for (const Problem& p : problems_of("gate", 50 << 20, DataType::bf16)) {
        for (const Feature feature : features_of(p)) {
            features.insert(feature);
        }
        head_dims.insert(p.head_dim);
        positions.insert(p.positions.type);
        plain_in_place = plain_in_place || (p.is_plain() && p.in_place);
        EXPECT_LT(p.elements(), 1 << 17) << p.text('/');  // all of them take a second or two
    }
    EXPECT_EQ(features, std::set(std::begin(all_features), std::end(all_features)));
    EXPECT_EQ(head_dims, (std::set<std::int64_t>{64, 80, 96, 128, 256}));
    EXPECT_EQ(positions.size(), 3U);
    EXPECT_TRUE(plain_in_place);
}

TEST(Presets, FollowTheL2) {
    for (const std::int64_t l2 : {std::int64_t{4} << 20, std::int64_t{50} << 20, std::int64_t{60} << 20}) {
        for (const DataType dtype : {DataType::f32, DataType::bf16}) {
            const auto moved = [&](const char* preset) {
                const Problem s = problems_of(preset, l2, dtype).at(0);
                return static_cast<double>(2 * s.batch * s.sequence * s.heads * s.head_dim * bytes_of(dtype)) /
                       static_cast<double>(l2);
            };
            EXPECT_NEAR(moved("resident"), 0.25, 0.01);
            EXPECT_NEAR(moved("streaming"), 8.0, 2.1);  // in whole sequences of 1024: 8 or 16 MiB a piece
        }
    }
    EXPECT_EQ(problems_of("resident", 60 << 20, DataType::f32).at(0), (Shape{1, 960, 16, 128}).problem());
    EXPECT_EQ(problems_of("streaming", 60 << 20, DataType::f32).at(0), (Shape{30, 1024, 16, 128}).problem());
}

// q read and out written are the bytes that are named, in each type, in sequences of up to 1024.
TEST(Presets, OfMovedBytesFollowTheType) {
    const std::vector<std::int64_t> mebibytes = {1, 4, 8, 16, 32, 64, 128, 256, 1024, 4096};
    for (const DataType dtype : {DataType::f32, DataType::bf16, DataType::f16}) {
        const std::vector<Problem> sweep = problems_of("sweep", 50 << 20, dtype);
        ASSERT_EQ(sweep.size(), 13U);
        EXPECT_EQ(sweep, problems_of("sweep", 60 << 20, dtype));
        const auto moved = [](const Problem& p) { return 2 * p.tokens() * p.heads * p.head_dim * bytes_of(p.dtype); };
        EXPECT_EQ(moved(sweep[0]), 16 << 10);
        EXPECT_EQ(moved(sweep[1]), 64 << 10);
        EXPECT_EQ(moved(sweep[2]), 256 << 10);
        for (std::size_t i = 0; i < mebibytes.size(); ++i) {
            EXPECT_EQ(moved(sweep[3 + i]), mebibytes[i] << 20);
        }
        for (const Problem& p : sweep) {
            EXPECT_TRUE(p.batch == 1 || p.sequence == 1024) << p.shape_text();
            EXPECT_EQ(p.dtype, dtype);
        }
    }
    EXPECT_EQ(problems_of("sweep", 1, DataType::f32).front().shape_text(), "1x1x16x128");
    EXPECT_EQ(problems_of("sweep", 1, DataType::bf16).front().shape_text(), "1x2x16x128");
    EXPECT_EQ(problems_of("sweep", 1, DataType::bf16).back().shape_text(), "512x1024x16x128");
}

TEST(Presets, UnknownOnesSuggestTheNearest) {
    const auto expect = [](const char* word, const char* part) {
        try {
            problems_of(word, 50 << 20, DataType::f32);
            ADD_FAILURE() << word;
        } catch (const InputError& error) {
            EXPECT_TRUE(says(error.what(), part)) << error.what();
        }
    };
    expect("residnet", "Did you mean 'resident'?");
    expect("model:qwen3-8b/decod", "Did you mean 'model:qwen3-8b/decode'?");
    expect("model:gema-3-27b", "Did you mean 'model:gemma-3-27b'?");
    expect("qwen3-8b/prefill", "Did you mean 'model:qwen3-8b/prefill'?");
    expect("frobnicate", "There are seed, resident, streaming, decode, prefill, gate, tune and sweep.");
    expect("", "There is no shape preset ''.");
}

const Model& model(const std::string& name) {
    const auto& all = models();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Model& m) { return m.name == name; });
    EXPECT_NE(found, all.end()) << name;
    return *found;
}

TEST(Models, AreDecodedAndPrefilledAsTheirHeadsAre) {
    const std::vector<Problem> decode = problems_of("model:qwen3-8b/decode", 50 << 20, DataType::bf16);
    ASSERT_EQ(decode.size(), 4U);
    EXPECT_EQ(decode[2].text(' '), "1x64x32+8x128 context:40960");
    EXPECT_EQ(decode[2].rotary_base, 1e6);
    EXPECT_EQ(decode[2].eps, 1e-6F);
    EXPECT_EQ(decode[2].dtype, DataType::bf16);
    std::set<std::int64_t> positions;
    for (std::int64_t token = 0; token < decode[3].tokens(); ++token) {
        positions.insert(decode[3].position_of(token));
    }
    EXPECT_EQ(positions.size(), 256U);  // each has a table row of its own
    EXPECT_EQ(*positions.rbegin(), 255);
    const std::vector<Problem> prefill = problems_of("model:qwen3-8b/prefill", 50 << 20, DataType::f32);
    ASSERT_EQ(prefill.size(), 3U);
    EXPECT_EQ(prefill[0].shape_text(), "1x1024x32+8x128");
    EXPECT_EQ(prefill[2].shape_text(), "2x32768x32+8x128");  // 65536 positions are more than it has
    EXPECT_EQ(problems_of("model:gemma-3-27b/prefill", 50 << 20, DataType::f32).at(2).text(' '),
              "1x65536x32+16x128 context:131072 gemma");
    EXPECT_EQ(problems_of("model:qwen3-8b", 50 << 20, DataType::f32).size(), 7U);
    EXPECT_EQ(problems_of("model:glm-4.5/decode", 50 << 20, DataType::f32).at(0).text(' '),
              "1x1x96+8x128 rotary:64 context:131072");
}

TEST(Models, CanAllBeRunAndSayWhereTheyAreFrom) {
    for (const char* name : {"qwen3-0.6b", "qwen3-8b", "qwen3-32b", "qwen3-235b-a22b", "gemma-3-27b"}) {
        EXPECT_EQ(model(name).name, name);
    }
    for (const Model& m : models()) {
        SCOPED_TRACE(m.name);
        EXPECT_NE(m.source.find("config.json"), std::string::npos);
        EXPECT_EQ(m.problem.heads % m.problem.key_heads, 0);
        for (const Problem& problem : problems_of("model:" + m.name, 50 << 20, DataType::f16)) {
            EXPECT_EQ(problem.fault(), "");
            EXPECT_EQ(extents_fault(problem), "");
            EXPECT_EQ(problem.table_positions(), m.problem.context);
        }
    }
    const auto tokens = [](const std::vector<Problem>& problems) { return problems.back().tokens(); };
    EXPECT_TRUE(std::all_of(models().begin(), models().end(),
                            [&](const Model& m) { return tokens(m.decode()) == 256 && tokens(m.prefill()) == 65536; }));
}

TEST(Models, AFaultyFileIsSaidWithItsLine) {
    const std::string good =
        "[m]\nsource = \"x\"\nheads = 4\nkey_heads = 2\nhead_dim = 64\neps = 1e-6\nrotary_base = 1e4\ncontext = 1024\n";
    const auto error = [](const std::string& text) -> std::string {
        try {
            parse_models(text, "file.toml");
        } catch (const InputError& e) {
            return e.what();
        }
        return "no error";
    };
    EXPECT_EQ(error(good), "no error");
    EXPECT_EQ(error(good + "rotary_dim = 32\npairing = \"interleaved\"\ngemma = true\nleft_out = \"y\""), "no error");
    EXPECT_EQ(parse_models(good + "pairing = \"interleaved\"", "").at(0).problem.pairing, Pairing::interleaved);
    EXPECT_TRUE(says(error(good + "bogus = 1"), "file.toml, line 9: the model 'm' has 'bogus', which is unknown"));
    EXPECT_TRUE(says(error(good + "pairing = \"both\""), "line 9: the model 'm' has 'pairing'"));
    EXPECT_TRUE(says(error(good + "gemma = 1"), "line 9: the model 'm' has 'gemma'"));
    EXPECT_TRUE(says(error(good + "rotary_dim = 0"), "line 9: the rotary_dim of 'm' is not a whole number"));
    EXPECT_TRUE(says(error(good + "rotary_dim = 3"), "line 1: the model 'm' cannot be run: the rotary dim is 3"));
    EXPECT_TRUE(says(error(good + "rotary_dim = 66"), "at most the head_dim, 64"));
    EXPECT_TRUE(says(error("[m]\nsource = \"x\""), "line 1: the model 'm' must have source, heads"));
    for (const char* number : {"4", "2", "64", "1e-6", "1e4", "1024"}) {  // each is missed
        std::string without = good;
        const std::size_t end = without.find(std::string("= ") + number + "\n");
        const std::size_t begin = without.rfind('\n', end) + 1;
        without.erase(begin, without.find('\n', end) + 1 - begin);
        EXPECT_TRUE(says(error(without), "must have source, heads")) << without;
    }
    EXPECT_TRUE(says(error("[m]\nheads = 1.5"), "line 2: the heads of 'm' is not a whole number"));
    EXPECT_TRUE(says(error("[m]\nheads = 4294967296"), "line 2: the heads of 'm' is not a whole number"));
    std::string odd = good;
    odd.replace(odd.find("64"), 2, "63");
    EXPECT_TRUE(says(error(odd), "head_dim is 63")) << error(odd);
    std::string base = good;
    base.replace(base.find("1e4"), 3, "0.5");
    EXPECT_TRUE(says(error(base), "a rotary_base below 1")) << error(base);
    EXPECT_TRUE(says(error("m = 1"), "file.toml, line 1: 'm' is not a table"));
    EXPECT_TRUE(says(error("[m\n"), "file.toml, line 1"));
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
    const std::string heads = "heads = 4\nhead_dim = 64\nmoved = ";
    const auto moved = [&](const std::string& sizes) { return error(("[a]\n" + heads + sizes).c_str()); };
    EXPECT_EQ(moved("[\"2K\", \"6144\"]"), "no error");
    EXPECT_TRUE(says(moved("[\"2K\",\n\"3K\"]"), "line 5: 3072 bytes are not whole tokens of 4 heads of 64 in f32"));
    EXPECT_TRUE(says(moved("[\"1K\"]"), "line 4: 1024 bytes are not whole tokens"));
    EXPECT_TRUE(says(moved("[\"3M\"]"), "line 4: 3145728 bytes are 1536 tokens in f32, which are not whole sequences"));
    EXPECT_TRUE(says(moved("[\"1280K\"]"), "line 4: 1310720 bytes are 1280 tokens in bf16, which are not whole"));
    EXPECT_TRUE(says(moved("[\"much\"]"), "line 4: moved 'much' is not a size"));
    EXPECT_TRUE(says(moved("[2048]"), "line 4: what is moved is text, such as \"64M\""));
    EXPECT_TRUE(
        says(moved("[\"1048576G\"]"), "line 4: the problem that moves 1048576G cannot be run: it has more than"));
    EXPECT_TRUE(says(moved("[]"), "must have either shapes"));
    EXPECT_TRUE(says(moved("\"2K\""), "has 'moved', which is unknown or of another type"));
    for (const char* more :
         {"batch = 1", "sequence = 1", "l2_multiple = 2.0", "shapes = [\"1x1x1x2\"]", "batch = 1\nl2_multiple = 2.0"}) {
        EXPECT_TRUE(says(moved(std::string("[\"2K\"]\n") + more), "must have either shapes")) << more;
    }
    EXPECT_TRUE(says(error("[a]\nheads = 4\nmoved = [\"2K\"]"), "or moved, heads and head_dim"));
    EXPECT_TRUE(says(error("[a]\nheads = 9223372036854775807\nhead_dim = 9223372036854775806\nmoved = [\"2K\"]"),
                     "line 4: 2048 bytes are not whole tokens"));
    const auto item = [&](const std::string& keys) { return error(("[a]\nshapes = [\n{" + keys + "}]").c_str()); };
    const std::string shape = "shape = \"1x6x4x64\", ";
    EXPECT_EQ(item(shape + "layout = \"separate\""), "no error");
    EXPECT_EQ(item("in-place = true"), error("[a]\nshapes = [\n1]"));
    EXPECT_TRUE(says(item("in-place = true"), "file.toml, line 3: a shape is text, such as"));
    EXPECT_TRUE(says(item("shape = \"1x6x4\""), "file.toml, line 3: The shape '1x6x4' is malformed"));
    EXPECT_TRUE(
        says(item(shape + "lay-out = \"packed\""), "line 3: a problem has no 'lay-out'. Did you mean 'layout'?"));
    EXPECT_TRUE(
        says(item(shape + "layout = \"striped\""), "line 3: --layout: there is no 'striped'; there are separate"));
    EXPECT_TRUE(says(item(shape + "layout = true"), "line 3: 'layout' is neither text nor a number"));
    EXPECT_TRUE(says(item(shape + "layout = \"\""), "line 3: 'layout' is neither text nor a number"));
    EXPECT_TRUE(says(item(shape + "gemma = 1"), "line 3: 'gemma' is neither true nor false"));
    EXPECT_TRUE(says(item(shape + "positions = \"int32:@ids\""), "line 3: a preset names no file"));
    EXPECT_TRUE(says(item(shape + "rotary-dim = 66"), "line 3: this problem cannot be run: the rotary dim is 66"));
    // Of one storage type alone.
    EXPECT_TRUE(says(item(shape + "table-dtype = \"f16\""), "line 3: this problem cannot be run: tables and gamma"));
}

}  // namespace
}  // namespace qkprof
