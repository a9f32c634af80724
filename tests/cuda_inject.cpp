// The real injected library in programs that use NVTX and no CUDA, so without a GPU: which ranges there are and how
// they nest, across domains, threads and forks.
#include "exec/exec_profile.h"
#include "program.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace qkprof::exec {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

class Inject : public Program {
  protected:
    ExecProfile ranges(const std::string& how) const {
        const Result r = qkprof("exec --quiet --out p.json -- " NVTX_PROGRAM " " + how);
        EXPECT_EQ(r.exit_code, 0) << r.err;
        EXPECT_THAT(r.err, testing::HasSubstr("No process of the command used CUDA."));
        return read_exec_profile(folder_ / "p.json");
    }
    static std::string text(const RangeRow& range) {
        std::string text;
        for (const std::string& around : range.inside) {
            text += around + " > ";
        }
        return text + text_of(range) + " x" + std::to_string(range.calls) + (range.open > 0 ? " open" : "");
    }
    static std::vector<std::string> texts(const ExecProfile& profile) {
        std::vector<std::string> all;
        for (const RangeRow& range : profile.ranges) {
            all.push_back(text(range));
        }
        return all;
    }
};

TEST_F(Inject, RangesNestInTheOrderOfTimeWhateverTheirDomain) {
    EXPECT_THAT(texts(ranges("nested")), ElementsAre("outer x1", "outer > first@inner x2"));
}

TEST_F(Inject, AThreadHasRangesOfItsOwn) {
    EXPECT_THAT(texts(ranges("threads")), UnorderedElementsAre("main x1", "outer x1", "outer > first@inner x2"));
}

TEST_F(Inject, AForkIsAProcessOfItsOwn) {
    const ExecProfile seen = ranges("fork");
    EXPECT_THAT(texts(seen), UnorderedElementsAre("before x1", "outer x1", "outer > first@inner x2"));
    for (const ProcessRow& process : seen.processes) {
        EXPECT_EQ(process.failure, "");
    }
}

TEST_F(Inject, TheEndOfAChildIsNotThatOfItsParent) {
    EXPECT_THAT(texts(ranges("killed-child")), UnorderedElementsAre("before x1", "after x10"));
}

TEST_F(Inject, TheFilesOfAProgramThatClosedItsConnectionAreItsOwn) { (void)ranges("close"); }

TEST_F(Inject, RangesThatAreNeverPoppedCostNoMore) {
    const ExecProfile seen = ranges("leak");  // all of them nested: a second, were each push to look at all
    EXPECT_EQ(seen.ranges.size(), 64U);
}

TEST_F(Inject, WideNamesAreUtf8) { EXPECT_EQ(ranges("wide").ranges.at(0).name, "caf\u00e9 \U0001F680"); }

}  // namespace
}  // namespace qkprof::exec
