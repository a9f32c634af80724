// qkprof compare from outside: its exit codes, forms and files, on profiles of the emulated device and of an H200.
#include "profile.h"
#include "program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <pugixml.hpp>

namespace qkprof {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* recorded = QKPROF_PROFILES_FOLDER "/h200/decode.json";

class CompareCli : public Program {
  protected:
    // A profile of the emulated device as base.json, and the same with a change as new.json.
    void record(const std::function<void(Profile&)>& change = [](Profile&) {}) const {
        ASSERT_EQ(qkprof("run --device emulated --shapes 1x2x2x64 --dtypes f32 --variants copy,fused_register "
                         "--out base.json")
                      .exit_code,
                  0);
        Profile profile = read_profile(folder_ / "base.json");
        change(profile);
        write("new.json", to_json(profile));
    }
    void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
};

Measurement& fused(Profile& profile) { return profile.measurements.back(); }

void one_more_sector(Profile& profile) { *fused(profile).counters.at("global_load_sectors").value += 1; }
void one_measurement_less(Profile& profile) { profile.measurements.pop_back(); }

TEST_F(CompareCli, TheSamePasses) {
    record();
    const Result r = qkprof("compare base.json new.json --strict");
    EXPECT_EQ(r.exit_code, 0) << r.out;
    EXPECT_THAT(r.out, HasSubstr(" none is worse.\n"));
    EXPECT_EQ(r.err, "");
    EXPECT_THAT(qkprof("compare base.json new.json --all").out, HasSubstr("fused_register/1x2x2x64/f32/warm"));
}

TEST_F(CompareCli, OneMoreSectorFailsAndOneLessIsBetter) {
    record(one_more_sector);
    const Result r = qkprof("compare base.json new.json");
    EXPECT_EQ(r.exit_code, 1);
    EXPECT_THAT(r.out, HasSubstr("worse: 1 cell\n"));
    EXPECT_THAT(r.out, HasSubstr("Worse: 1 of "));
    EXPECT_EQ(r.err, "");
    const Result better = qkprof("compare --strict new.json base.json");
    EXPECT_EQ(better.exit_code, 0);
    EXPECT_THAT(better.out, HasSubstr("better: 1 cell\n"));
}

TEST_F(CompareCli, WhatIsMissingIsInconclusiveAndFailsStrictly) {
    record(one_measurement_less);
    const Result r = qkprof("compare base.json new.json");
    EXPECT_EQ(r.exit_code, 3);
    EXPECT_THAT(r.out, HasSubstr("\nInconclusive: of "));
    EXPECT_EQ(qkprof("compare base.json new.json --strict").exit_code, 1);
    const Result more = qkprof("compare new.json base.json --strict");
    EXPECT_EQ(more.exit_code, 0);
    EXPECT_THAT(more.out, HasSubstr("1 measurement is in NEW alone, and held against nothing: fused_register/"));
}

TEST_F(CompareCli, AWrongResultIsTheExitCode) {
    record([](Profile& profile) { fused(profile).verification.correct = false; });
    const Result r = qkprof("compare base.json new.json");
    EXPECT_EQ(r.exit_code, 5);
    EXPECT_THAT(r.out, HasSubstr("\nWrong: NEW computes 1 wrong result; 1 of "));
}

TEST_F(CompareCli, AFileOfThresholdsIsReadAfterTheOthers) {
    record(one_more_sector);
    write("mine.toml", "[[threshold]]\nmetrics = 'global_load_sectors'\nabsolute = 1\n");
    EXPECT_EQ(qkprof("compare base.json new.json --thresholds mine.toml").exit_code, 0);
    EXPECT_THAT(qkprof("compare base.json new.json --thresholds mine.toml --all --explain").out,
                HasSubstr("mine.toml, line 1"));
    write("mine.toml", "[[threshold]]\nmetrics = 'global_lod_sectors'\nabsolute = 1\n");
    const Result r = qkprof("compare base.json new.json --thresholds mine.toml");
    EXPECT_EQ(r.exit_code, 2);
    EXPECT_THAT(r.err, HasSubstr("mine.toml, line 2: there is no metric 'global_lod_sectors'"));
}

TEST_F(CompareCli, ExplainShowsTheThresholds) {
    write("mine.toml", "[[threshold]]\nmetrics = 'registers'\nabsolute = 2\n");
    const Result r = qkprof("compare --explain --thresholds mine.toml");
    EXPECT_EQ(r.exit_code, 0);
    EXPECT_THAT(r.out, HasSubstr("profiles/thresholds.toml, line "));
    EXPECT_THAT(r.out, HasSubstr("mine.toml, line 1\n"));
    EXPECT_THAT(qkprof("compare --explain --format csv").out, StartsWith("metrics,variants,dtypes,"));
    fs::remove(folder_ / "mine.toml");
    expect_refused("compare --explain --strict", "--strict is about two profiles, and --explain without any shows");
}

TEST_F(CompareCli, MetricsAndVariantsAreChosenByGlobs) {
    record(one_more_sector);
    const auto exit_code = [&](const std::string& options) {
        return qkprof("compare base.json new.json " + options).exit_code;
    };
    EXPECT_EQ(exit_code("--metrics 'global_*'"), 1);
    EXPECT_EQ(exit_code("--metrics '*store*,launches'"), 0);
    EXPECT_EQ(exit_code("--variants 'fused_*'"), 1);
    EXPECT_EQ(exit_code("--variants copy"), 0);
    EXPECT_EQ(exit_code("--variants fused_tile_bulk"), 2);
}

TEST_F(CompareCli, BadInputIsOneSentence) {
    const std::string two = std::string("compare ") + recorded + " " + recorded + " ";
    expect_refused("compare", "qkprof compare takes two profiles, BASE and NEW, and none is given: see");
    expect_refused("compare x.json", "takes two profiles, BASE and NEW, and x.json alone is given: see");
    expect_refused("compare a b c", "'c' is not expected after compare: see qkprof compare --help.");
    expect_refused("compare '' b", "an empty value says nothing");
    expect_refused("compare nowhere.json " + std::string(recorded), "There is no profile nowhere.json.");
    expect_refused(two + "--metrics lunches",
                   "--metrics: nothing that is compared matches 'lunches'. Did you mean 'launches'?");
    expect_refused(two + "--variants fused_registr",
                   "no variant of the two profiles matches 'fused_registr'. Did you mean");
    expect_refused(two + "--format xml", "There is no format 'xml'");
    expect_refused(two + "--thresholds nowhere.toml", "There is no thresholds file nowhere.toml.");
    expect_refused(two + "--thresholds .", ". is not a file, as a thresholds file must be.");
    expect_refused(two + "--stict", "qkprof compare has no option --stict. Did you mean --strict?");
    expect_refused(two + "--strict=no", "--strict: it takes no value, and 'no' is given");
    expect_refused(two + "--junit no/such/folder/x.xml", "--junit no/such/folder/x.xml cannot be written");
    expect_refused(two + "--junit /dev/null",
                   "--junit /dev/null: it is a device or a pipe, and the file is put in place "
                   "by renaming; name a file.");
    expect_refused("comapre x", "There is no command 'comapre'. Did you mean 'compare'?");
}

TEST_F(CompareCli, TheFormsForProgramsHoldEveryCell) {
    record(one_more_sector);
    const Result json = qkprof("compare base.json new.json --format json");
    const auto object = nlohmann::json::parse(json.out);
    EXPECT_EQ(json.exit_code, 1);
    EXPECT_EQ(json.err, "");
    EXPECT_EQ(object.at("verdict"), "failed");
    EXPECT_EQ(object.at("cells").at(0).at("metric"), "global_load_sectors");
    EXPECT_EQ(object.at("cells").at(0).at("new"), object.at("cells").at(0).at("base").get<double>() + 1);
    const Result csv = qkprof("compare base.json new.json --format csv");
    EXPECT_EQ(static_cast<std::size_t>(std::count(csv.out.begin(), csv.out.end(), '\n')),
              object.at("cells").size() + 1);
    EXPECT_EQ(csv.err.rfind("qkprof: Worse: 1 of ", 0), 0U) << csv.err;
    EXPECT_THAT(qkprof("compare base.json new.json --format markdown").out, StartsWith("### Worse: 1 of "));
}

TEST_F(CompareCli, TheReportForCiIsWholeXml) {
    record(one_more_sector);
    const Result r = qkprof("compare base.json new.json --junit report.xml");
    EXPECT_EQ(r.exit_code, 1);
    pugi::xml_document document;
    ASSERT_TRUE(document.load_file((folder_ / "report.xml").c_str()));
    EXPECT_EQ(document.child("testsuites").attribute("failures").as_int(), 1);
    EXPECT_EQ(document.select_nodes("//failure").size(), 1U);
}

TEST_F(CompareCli, TheReportTakesNoProfilesPlace) {
    record();
    const std::string before = content(folder_ / "base.json");
    const Result r = qkprof("compare base.json new.json --junit ./base.json");
    EXPECT_EQ(r.exit_code, 2);
    EXPECT_THAT(r.err, HasSubstr("--junit ./base.json would overwrite that profile: name another file."));
    EXPECT_EQ(content(folder_ / "base.json"), before);
}

// pugixml reads what is no XML, too.
TEST_F(CompareCli, AStrictParserReadsTheReport) {
    if (std::system("python3 -c 'import xml.etree.ElementTree' 2>/dev/null") != 0) {
        GTEST_SKIP() << "Python 3 was not found";
    }
    record([](Profile& profile) {
        fused(profile).verification.correct = false;
        fused(profile).verification.fault = "\n\t<a & b> \"]]> \xef\xbf\xbf";
    });
    EXPECT_EQ(qkprof("compare base.json new.json --junit report.xml").exit_code, 5);
    const std::string python = "cd " + folder_.string() +
                               " && python3 -c 'import xml.etree.ElementTree as t; r = t.parse(\"report.xml\"); "
                               "assert len(r.findall(\".//failure\")) == int(r.getroot().get(\"failures\")) == 1'";
    EXPECT_EQ(std::system(python.c_str()), 0) << content(folder_ / "report.xml");
}

TEST_F(CompareCli, GitHubIsToldOnStandardError) {
    record(one_more_sector);
    unsetenv("GITHUB_ACTIONS");
    const Result r = qkprof("compare base.json new.json --format json");
    EXPECT_EQ(r.err, "");
    setenv("GITHUB_ACTIONS", "true", 1);
    const Result told = qkprof("compare base.json new.json --format json");
    setenv("GITHUB_ACTIONS", "false", 1);
    EXPECT_EQ(qkprof("compare base.json new.json").err, "");
    unsetenv("GITHUB_ACTIONS");
    EXPECT_EQ(told.exit_code, 1);
    EXPECT_EQ(told.out, r.out);
    EXPECT_THAT(told.err,
                StartsWith("::error title=qkprof%3A worse::fused_register/1x2x2x64/f32/warm: global_load_sec"));
    EXPECT_EQ(std::count(told.err.begin(), told.err.end(), '\n'), 1) << told.err;
}

TEST_F(CompareCli, RecordedTimesAreHeldAgainstEachOther) {
    Profile profile = read_profile(recorded);
    for (Measurement& m : profile.measurements) {
        if (m.variant == "fused_register") {
            for (double& seconds : m.seconds) {
                seconds *= 1.5;
            }
        }
    }
    write("slower.json", to_json(profile));
    const std::string two = std::string("compare ") + recorded + " slower.json ";
    const Result r = qkprof(two);
    EXPECT_EQ(r.exit_code, 1);
    EXPECT_THAT(r.out, HasSubstr("+50.0%"));
    EXPECT_THAT(qkprof(two + "--of-ceiling --metrics copy_fraction").out, HasSubstr("-33.3%"));
    EXPECT_THAT(qkprof(two + "--explain").out, HasSubstr(" assumed  "));
}

TEST_F(CompareCli, WhatCannotBePrintedIsSaid) {
    record();
    const Result r = qkprof("compare base.json new.json >/dev/full; exit $?");
    EXPECT_EQ(r.exit_code, 4);
}

}  // namespace
}  // namespace qkprof
