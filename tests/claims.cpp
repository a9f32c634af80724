// The claims file and its expressions: what is read, and that what is wrong is said with its line.
#include "claims.h"

#include "claims_subjects.h"
#include "error.h"
#include "frameworks.h"
#include "names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace qkprof {
namespace {

using testing::HasSubstr;

const std::vector<std::string> known = {"copy", "fused_register", "naive_primitives", "naive_three_kernel"};

template <class Function>
std::string error_of(const Function& function) {
    try {
        function();
    } catch (const InputError& error) {
        return error.what();
    }
    return "no error";
}

double value(const std::string& text, const std::vector<double>& terms = {}) {
    return parse_expression(text, known).value(terms);
}

TEST(ExpressionTest, HasTheUsualOrderOfOperations) {
    EXPECT_EQ(value("1 + 2 * 3"), 7);
    EXPECT_EQ(value("(1 + 2) * 3"), 9);
    EXPECT_EQ(value("8 - 4 - 2"), 2);
    EXPECT_EQ(value("8 / 4 / 2"), 1);
    EXPECT_EQ(value("-2 * -(3 + 1)"), 8);
    EXPECT_EQ(value("1.5e3/.5"), 3000);
    EXPECT_EQ(value("launches / (launches + 1)", {3}), 0.75);
}

TEST(ExpressionTest, DeepOnesHaveAStackThatFits) {
    std::string text = "1";
    for (int i = 0; i < 90; ++i) {
        text.insert(0, "1 + (").append(")");  // each level leaves one operand waiting
    }
    EXPECT_EQ(value(text), 91);
    EXPECT_THAT(error_of([] { value(std::string(101, '(') + "1" + std::string(101, ')')); }), HasSubstr("too deeply"));
}

TEST(ExpressionTest, TermsSayWhatTheyAreOf) {
    const Expression e =
        parse_expression("real_time[copy, warm, bf16] / real_time + real_time * l2_bytes[largest]", known);
    ASSERT_EQ(e.terms().size(), 3U);  // real_time once
    EXPECT_EQ(e.terms()[0], (Term{"real_time", "copy", CacheState::warm, DataType::bf16, SizeOf::cell}));
    EXPECT_EQ(e.terms()[1], (Term{"real_time", "", {}, {}, SizeOf::cell}));
    EXPECT_EQ(e.terms()[2], (Term{"l2_bytes", "", {}, {}, SizeOf::largest}));
    EXPECT_TRUE(e.timed());
    EXPECT_TRUE(parse_expression("stream_time", known).timed());
    EXPECT_FALSE(parse_expression("graph_launches / launches", known).timed());
}

TEST(ExpressionTest, AVariantMayHaveAParameter) {
    const std::vector<std::string> names = {"copy", "fused_best", "fused_best/programmatic:0"};
    const Expression e = parse_expression("real_time[fused_best/programmatic:0, warm] / real_time[fused_best]", names);
    EXPECT_EQ(e.terms().at(0), (Term{"real_time", "fused_best/programmatic:0", CacheState::warm, {}, SizeOf::cell}));
    EXPECT_EQ(e.terms().at(1).variant, "fused_best");
    const auto error = [&](const std::string& text) { return error_of([&] { parse_expression(text, names); }); };
    EXPECT_THAT(error("launches[fused_best/programmatic:2]"),
                HasSubstr("'[fused_best/programmatic:2]' in the expression 'launches[fused_best/programmatic:2]' is no "
                          "variant, state, type or size. Did you mean 'fused_best/programmatic:0'?"));
    EXPECT_THAT(error("launches[fused_best/programmatic]"), HasSubstr("'[fused_best/programmatic]' in the expression"));
    EXPECT_THAT(error("launches[fused_best/]"), HasSubstr("'[fused_best/]' in the expression"));
    EXPECT_THAT(error("launches[fused_best/programmatic:0, copy]"), HasSubstr("already name a variant, before 'copy'"));
}

TEST(ExpressionTest, WhatIsWrongIsSaidWithItsPlace) {
    const auto error = [](const std::string& text) { return error_of([&] { parse_expression(text, known); }); };
    EXPECT_THAT(error("lanches"),
                HasSubstr("there is no quantity 'lanches' (qkprof list metrics). Did you mean 'launches'?"));
    EXPECT_THAT(error("launches +"),
                HasSubstr("malformed at character 11: a number, a quantity or a ( must stand here"));
    EXPECT_THAT(error("(launches"), HasSubstr("character 10: a ) is missing"));
    EXPECT_THAT(error("launches 2"), HasSubstr("character 10: an operator or the end must stand here"));
    EXPECT_THAT(error("launches[cpy]"),
                HasSubstr("'[cpy]' in the expression 'launches[cpy]' is no variant, state, type or "
                          "size. Did you mean 'copy'?"));
    EXPECT_THAT(error("launches[warm"), HasSubstr("a , or ] is missing"));
    EXPECT_THAT(error("copy_fraction"), HasSubstr("no samples of its own: write real_time[copy] / real_time"));
    EXPECT_THAT(error("inf"), HasSubstr("there is no quantity 'inf'"));
    EXPECT_THAT(error(""), HasSubstr("character 1"));
}

TEST(RelationTest, IsAnInterval) {
    EXPECT_TRUE(parse_relation("= 1").holds(1));
    EXPECT_FALSE(parse_relation("= 1").holds(1 + 1e-12));
    EXPECT_TRUE(parse_relation("<= 1.02").holds(1.02));
    EXPECT_FALSE(parse_relation("< 1.02").holds(1.02));
    EXPECT_TRUE(parse_relation(">=0.98").holds(0.98));
    EXPECT_FALSE(parse_relation("> 0.98").holds(0.98));
    EXPECT_TRUE(parse_relation("= 0.3").holds(value("0.1 * 3 * launches", {1})));  // which rounding makes more than 0.3
    EXPECT_TRUE(parse_relation("= 0").holds(0));
    EXPECT_FALSE(parse_relation("= 1").holds(1 + 1e-11));
    EXPECT_FALSE(parse_relation("= 0").holds(1e-300));
    EXPECT_TRUE(parse_relation("within 5 % of 2").holds(1.9));
    EXPECT_FALSE(parse_relation("within 5% of 2").holds(1.89));
    EXPECT_TRUE(parse_relation("from 0.9 to 1.1").holds(1.1));
    for (const char* const text :
         {"", "1", "== 1", "<= ", "= nan", "within 5 of 1", "within -1 % of 1", "from 2 to 1", "= 1 2", "~ 1"}) {
        EXPECT_THAT(error_of([&] { parse_relation(text); }), HasSubstr("is no relation")) << text;
    }
    EXPECT_TRUE(parse_relation("<= 1").overlaps(parse_relation(">= 1")));
    EXPECT_FALSE(parse_relation("< 1").overlaps(parse_relation(">= 1")));
}

TEST(BytesLimitTest, IsInBytesOrOfTheL2) {
    EXPECT_TRUE(parse_bytes_limit("<= 0.25 L2").holds(25, 100));
    EXPECT_FALSE(parse_bytes_limit("<= 0.25 L2").holds(26, 100));
    EXPECT_TRUE(parse_bytes_limit(">= 64 MiB").holds(64 << 20, 1));
    EXPECT_FALSE(parse_bytes_limit(">= 64 MiB").holds((64 << 20) - 1, 1));
    for (const char* const text : {"", "64 MiB", "<= 64", "<= 64 MB", "<= L2", "within 1 % of 2 L2"}) {
        EXPECT_THAT(error_of([&] { parse_bytes_limit(text); }), HasSubstr("is no limit of bytes")) << text;
    }
}

// A whole claim, each line of which a test may replace.
std::string claim_with(const std::string& line, const std::string& instead) {
    std::string text =
        "# a comment\n"
        "[[claim]]\n"
        "id = \"one\"\n"
        "statement = \"said\"\n"
        "source = \"somewhere\"\n"
        "subjects = [\"fused_*\"]\n"
        "measure = \"launches\"\n"
        "relation = \"= 1\"\n"
        "[claim.where]\n"
        "states = [\"cold\"]\n"
        "[claim.control]\n"
        "subjects = \"naive_*\"\n";
    const std::size_t at = line.empty() ? std::string::npos : text.find(line);
    return at == std::string::npos ? text : text.replace(at, line.size(), instead);
}

TEST(ClaimsFile, IsRead) {
    const Claim claim = parse_claims(claim_with("", ""), "c.toml", known).at(0);
    EXPECT_EQ(claim.id, "one");
    EXPECT_EQ(claim.test.subjects, std::vector<std::string>{"fused_*"});
    EXPECT_EQ(text_of(claim.test), "launches = 1");
    EXPECT_EQ(text_of(claim.test.where), "cold");
    EXPECT_FALSE(claim.along_size);
    ASSERT_EQ(claim.controls.size(), 1U);
    EXPECT_EQ(claim.controls[0].subjects, std::vector<std::string>{"naive_*"});
    EXPECT_EQ(text_of(claim.controls[0]), "launches = 1 must fail");
    EXPECT_EQ(text_of(claim.controls[0].where), "cold");  // of the claim
}

TEST(ClaimsFile, AControlHasItsOwnWhereItSaysSo) {
    const Claim claim = parse_claims(claim_with("subjects = \"naive_*\"",
                                                "relation = \"> 1\"\nmeasure = \"submissions\"\n[claim.control.where]\n"
                                                "features = []\nworking_set = [\">= 1 MiB\", \"<= 4 L2\"]"),
                                     "c.toml", known)
                            .at(0);
    EXPECT_EQ(text_of(claim.controls.at(0)), "submissions > 1");
    EXPECT_EQ(claim.controls.at(0).subjects, claim.test.subjects);
    EXPECT_EQ(text_of(claim.controls.at(0).where), "the first form; working set >= 1 MiB; working set <= 4 L2");
}

TEST(ClaimsFile, WhatIsWrongIsSaidWithItsLine) {
    const struct {
        const char* line;
        const char* instead;
        const char* sentence;
    } cases[] = {
        {"states = ", "state = ",
         "c.toml, line 10: the 'where' of the claim 'one' has no key 'state'. Did you mean 'states'?"},
        {"measure = ", "mesure = ", "c.toml, line 7: the claim 'one' has no key 'mesure'. Did you mean 'measure'?"},
        {"\"launches\"", "\"lanches\"", "c.toml, line 7: there is no quantity 'lanches'"},
        {"\"fused_*\"", "\"fused_*\", \"fusd_register\"",
         "c.toml, line 6: no variant matches 'fusd_register'. Did you mean 'fused_register'?"},
        {"\"naive_*\"", "\"nave_*\"", "c.toml, line 12: no variant matches 'nave_*'"},
        {"\"cold\"", "\"cool\"", "c.toml, line 10: there is no cache state 'cool'. Did you mean 'cold'?"},
        {"states = [\"cold\"]", "shapes = [\"1x2x3\"]", "c.toml, line 10: The shape '1x2x3' is malformed"},
        {"states = [\"cold\"]", "shapes = [\"1X2*\"]", "c.toml, line 10: '1X2*' matches no shape"},
        {"states = [\"cold\"]", "features = \"inplace\"",
         "c.toml, line 10: there is no feature 'inplace'. Did you mean 'in place'?"},
        {"states = [\"cold\"]", "dtypes = \"f64\"", "c.toml, line 10: there is no type 'f64'"},
        {"states = [\"cold\"]", "when = \"launches[smallest] = 1\"",
         "c.toml, line 10: 'launches[smallest] = 1' asks for"},
        {"states = [\"cold\"]", "working_set = \"small\"", "c.toml, line 10: 'small' is no limit of bytes"},
        {"\"= 1\"", "\"is 1\"", "c.toml, line 8: 'is 1' is no relation"},
        {"\"launches\"", "\"real_time\"", "c.toml, line 2: the claim 'one' asks a time to be exact"},
        {"source = \"somewhere\"\n", "", "c.toml, line 2: the claim 'one' lacks its 'source'."},
        {"\"said\"", "\"\"", "c.toml, line 4: the 'statement' of the claim 'one' must be text, and not empty."},
        {"\"one\"", "\"One!\"", "c.toml, line 3: the id 'One!' must be of lower-case letters"},
        {"relation = ", "along = \"time\"\nrelation = ",
         "c.toml, line 8: 'time' is nothing that the claim 'one' can go along"},
        {"[claim.control]\nsubjects = \"naive_*\"\n", "", "c.toml, line 2: the claim 'one' has no control"},
        {"subjects = \"naive_*\"\n", "", "the control of the claim 'one' is empty: it is the claim itself."},
        {"subjects = \"naive_*\"", "relation = \"<= 1\"",
         "c.toml, line 11: the control of the claim 'one' can hold together with the claim"},
        {"[\"fused_*\"]", "[1]", "c.toml, line 6: the 'subjects' of the claim 'one' must be text, and not empty."},
        {"\"launches\"", "\"launches[copy, fused_register]\"",
         "character 30: the brackets already name a variant, before 'fused_register'"},
        {"\"launches\"", "\"launches[warm, copy, cold]\"",
         "c.toml, line 7: the expression 'launches[warm, copy, cold]' is malformed at character 26: the brackets "
         "already "
         "name a state, before 'cold'"},
        {"\"launches\"", "\"launches[f16, f32]\"", "the brackets already name a type, before 'f32'"},
        {"\"launches\"", "\"launches[largest, smallest]\"", "the brackets already name a size, before 'smallest'"},
        {"\"launches\"", "\"launches[fused_*]\"",
         "c.toml, line 7: the expression 'launches[fused_*]' is malformed at character 16: the brackets name one "
         "variant, and not by * or ?"},
        {"states = [\"cold\"]", "when = \"launches\"",
         "c.toml, line 10: the condition 'launches' lacks its relation, as of \"launches = 1\"."},
        {"states = [\"cold\"]", "working_set = \"<= -1 MiB\"",
         "c.toml, line 10: '<= -1 MiB' limits bytes by a negative number."},
        {"states = [\"cold\"]", "moved = [\"> -2 L2\"]", "'> -2 L2' limits bytes by a negative number."},
        {"[[claim]]", "[[claims]]", "c.toml, line 2: the file has no key 'claims'. Did you mean 'claim'?"},
        {"\"said\"", "said", "c.toml, line 4: "},
    };
    const std::string deep = std::string(5000, '(') + "launches" + std::string(5000, ')');
    const std::string message = error_of([&] { parse_claims(claim_with("launches", deep), "c.toml", known); });
    EXPECT_THAT(message, HasSubstr("c.toml, line 7: the expression '((((((((((((((((((((((((((((((((((((((((("));
    EXPECT_THAT(message, HasSubstr("((...' is malformed at character 101: it is nested too deeply"));
    EXPECT_LT(message.size(), 250U);
    for (const auto& c : cases) {
        const std::string said = error_of([&] { parse_claims(claim_with(c.line, c.instead), "c.toml", known); });
        EXPECT_EQ(said.find("c.toml"), said.rfind("c.toml")) << said;  // the place once
        EXPECT_THAT(error_of([&] { parse_claims(claim_with(c.line, c.instead), "c.toml", known); }),
                    HasSubstr(c.sentence));
    }
    EXPECT_THAT(error_of([] { parse_claims("", "c.toml", known); }), HasSubstr("c.toml: it holds no claim"));
    EXPECT_THAT(error_of([] { parse_claims(claim_with("", "") + claim_with("", ""), "c.toml", known); }),
                HasSubstr("c.toml, line 14: there are two claims with the id 'one'."));
}

TEST(ClaimsFile, AVariantMayHaveAParameterOfTheProgram) {
    const auto parsed = [](const std::string& subject) {
        return parse_claims(claim_with("[\"fused_*\"]", "[\"" + subject + "\"]"), "c.toml",
                            {"fused_best", "naive_all"});
    };
    const std::string subject = "fused_best/programmatic:0";
    EXPECT_EQ(parsed(subject).at(0).test.subjects, std::vector<std::string>{subject});
    EXPECT_THAT(error_of([&] { parsed("fused_best/programmatic:7"); }),
                HasSubstr("c.toml, line 6: no variant matches 'fused_best/programmatic:7'. Did you mean "
                          "'fused_best/programmatic:"));
    EXPECT_THAT(error_of([&] { parsed("fused_best/speed:1"); }), HasSubstr("no variant matches 'fused_best/speed:1'."));
    EXPECT_THAT(
        error_of([&] { parsed("fused_best/*"); }),
        HasSubstr("c.toml, line 6: behind the slash of 'fused_best/*' stand a parameter and its value, without"));
}

TEST(ClaimsFile, WhatAClaimNamesWithAParameterIsMeasured) {
    const std::vector<Variant>& all = variants(Backend::emulated);
    const auto best = std::find_if(all.begin(), all.end(), [](const Variant& v) { return v.name == "fused_best"; });
    const auto copy = std::find_if(all.begin(), all.end(), [](const Variant& v) { return v.name == "copy"; });
    const std::vector<Candidate> chosen = {standard_candidate(*copy), standard_candidate(*best)};
    const auto further = [&](const std::string& line, const std::string& instead) {
        const std::string text = claim_with(line, instead);
        std::vector<std::string> names;
        for (const Candidate& c :
             further_candidates(parse_claims(text, "c.toml", {"copy", "fused_best", "naive_primitives"}), chosen)) {
            EXPECT_EQ(c.parameters.size(), c.variant->parameters.size());
            names.push_back(c.variant->name + parameters_text(c.non_standard));
        }
        return names;
    };
    using testing::ElementsAre;
    using testing::IsEmpty;
    EXPECT_THAT(further("", ""), IsEmpty());
    const std::string with_parameter = "fused_best/programmatic:0";
    EXPECT_THAT(further("fused_*", with_parameter), ElementsAre(with_parameter));
    EXPECT_THAT(further("\"launches\"", "\"launches / launches[" + with_parameter + "]\""),
                ElementsAre(with_parameter));
    EXPECT_THAT(further("states = [\"cold\"]", "when = \"launches[" + with_parameter + "] = 1\""),
                ElementsAre(with_parameter));
    EXPECT_THAT(further("subjects = \"naive_*\"", "subjects = \"" + with_parameter + "\""),
                ElementsAre(with_parameter));
    EXPECT_THAT(further("fused_*", "fused_*/threads:64"), ElementsAre("fused_best/threads:64"));
}

TEST(ClaimsFile, FeaturesAreInAnyOrder) {
    const auto where = [](const std::string& features) {
        return text_of(parse_claims(claim_with("states = [\"cold\"]", "features = " + features), "c.toml", known)
                           .at(0)
                           .test.where);
    };
    EXPECT_EQ(where("[\"in place\", \"key heads\", \"packed\"]"), where("[\"key heads\", \"packed\", \"in place\"]"));
}

TEST(ClaimsFile, ClaimsAreChosenById) {
    const std::vector<Claim> all = parse_claims(claim_with("", "") + claim_with("\"one\"", "\"two\""), "c.toml", known);
    EXPECT_EQ(choose_claims(all, {}).size(), 2U);
    EXPECT_EQ(choose_claims(all, {"two"}).at(0).id, "two");
    EXPECT_EQ(choose_claims(all, {"t*"}).size(), 1U);
    EXPECT_THAT(error_of([&] { choose_claims(all, {"x*"}); }), HasSubstr("There is no claim 'x*'."));
    EXPECT_THAT(error_of([&] { choose_claims(all, {"tow"}); }),
                HasSubstr("There is no claim 'tow'. Did you mean 'two'?"));
}

TEST(ClaimsFile, TheOneOfTheProgramIsRead) {
    std::vector<std::string> names;
    for (const Variant& variant : variants(Backend::emulated)) {
        names.push_back(variant.name);
    }
    for (const Framework& framework : frameworks()) {
        names.emplace_back(framework.name);
    }
    const std::vector<Claim> claims = parse_claims(embedded_claims_toml, "profiles/claims.toml", names);
    EXPECT_GE(claims.size(), 12U);
    for (const Claim& claim : claims) {
        EXPECT_FALSE(claim.controls.empty()) << claim.id;
    }
}

}  // namespace
}  // namespace qkprof
