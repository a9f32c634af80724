// The trace of a made-up program, read back as JSON.
#include "error.h"
#include "exec/perfetto_trace.h"
#include "exec_messages.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

namespace qkprof::exec {
namespace {

using Json = nlohmann::json;

class ExecTrace : public testing::Test {
  protected:
    ExecTrace() : path_(std::filesystem::temp_directory_path() / ("qkprof-trace-" + std::to_string(getpid()))) {}
    ~ExecTrace() override { std::filesystem::remove(path_); }

    std::vector<Json> events(const std::string& phase) const {
        std::ifstream stream(path_);
        const Json trace = Json::parse(std::string(std::istreambuf_iterator<char>(stream), {}));  // throws
        std::vector<Json> chosen;
        for (const Json& event : trace.at("traceEvents")) {
            if (event.at("ph") == phase) {
                chosen.push_back(event);
            }
        }
        return chosen;
    }
    std::vector<std::string> names(const std::string& phase) const {
        std::vector<std::string> all;
        for (const Json& event : events(phase)) {
            all.push_back(phase == "M" && event.at("args").contains("name")
                              ? event.at("args").at("name").get<std::string>()
                              : event.at("name").get<std::string>());
        }
        return all;
    }

    std::filesystem::path path_;
};

TEST_F(ExecTrace, EachKernelIsAnEventInTheRowOfItsStream) {
    PerfettoTrace trace(path_, 1000, 1000);
    Collector collector(&trace);
    MadeUpProcess process(collector);
    process.tell(encoded(MessageKind::device, Device{.device = 0}, "NVIDIA \"H200\""));
    const std::uint64_t step = process.push("step", 0, "model", 2000);
    const std::uint32_t graph = process.submit(step, SubmissionKind::graph);
    process.pop(step, 2600);
    process.kernel(graph, "first", 3000, 1500, 0, 5);
    process.kernel(graph, "second", 3100, 10, 0, 5);  // while the first runs
    process.copy(process.submit(), 5000, 10, 64);
    (void)process.push("open", 0, "", 7000);
    trace.flush();
    ASSERT_EQ(events("X").size(), 4U);
    process.close();
    trace.flush();
    const std::vector<Json> whole = events("X");
    EXPECT_EQ(names("X"), (std::vector<std::string>{"model@step", "first", "second", "copy host to device"}));
    EXPECT_EQ(names("B"), std::vector<std::string>{"open"});
    EXPECT_DOUBLE_EQ(whole.at(0).at("ts").get<double>(), 1.0);
    EXPECT_DOUBLE_EQ(whole.at(0).at("dur").get<double>(), 0.6);
    EXPECT_DOUBLE_EQ(whole.at(1).at("ts").get<double>(), 2.0);
    EXPECT_DOUBLE_EQ(whole.at(1).at("dur").get<double>(), 1.5);
    EXPECT_EQ(whole.at(1).at("args").at("grid"), "1x1x1");
    EXPECT_EQ(whole.at(1).at("args").at("graph"), 5);
    EXPECT_EQ(whole.at(1).at("pid"), whole.at(2).at("pid"));
    EXPECT_NE(whole.at(1).at("tid"), whole.at(2).at("tid"));
    EXPECT_NE(whole.at(0).at("pid"), whole.at(1).at("pid"));
    EXPECT_EQ(events("s").size(), 2U);
    EXPECT_EQ(events("f").at(1).at("tid"), whole.at(2).at("tid"));
    const std::vector<std::string> rows = names("M");
    for (const char* row : {"process 100: made up", "GPU 0: NVIDIA \"H200\"", "stream 7", "stream 7 (2)", "thread 1"}) {
        EXPECT_NE(std::find(rows.begin(), rows.end(), row), rows.end()) << row;
    }
    EXPECT_EQ(trace.left_out(), 0U);
    EXPECT_EQ(trace.fault(), "");
}

TEST_F(ExecTrace, MoreEventsThanTheLimitAreCounted) {
    PerfettoTrace trace(path_, 0, 10);
    Collector collector(&trace);
    MadeUpProcess process(collector);
    for (std::uint64_t i = 1; i <= 25; ++i) {
        process.launch(0, "kernel", i * 100);
    }
    trace.flush();
    EXPECT_EQ(events("X").size(), 10U);
    EXPECT_EQ(trace.left_out(), 15U);
}

// Much more than is held before it is written: read at once, with no last flush.
TEST_F(ExecTrace, TheFileIsWholeAtEveryMoment) {
    PerfettoTrace trace(path_, 0, 100'000);
    EXPECT_TRUE(events("X").empty());
    Collector collector(&trace);
    MadeUpProcess process(collector);
    std::size_t seen = 0;
    for (std::uint64_t i = 1; i <= 20'000; ++i) {
        process.launch(0, std::string(100, 'k'), i * 100);
        if (i % 5000 == 0) {
            const std::size_t now = events("X").size();
            EXPECT_GE(now, seen);
            seen = now;
        }
    }
    EXPECT_GT(seen, 10'000U);
    EXPECT_LT(seen, 20'000U);
}

TEST_F(ExecTrace, AFileThatCannotBeWrittenIsSaid) {
    EXPECT_THROW(PerfettoTrace("/no/such/folder/trace.json", 0, 10), CannotMeasure);
    if (std::filesystem::exists("/dev/full")) {
        const PerfettoTrace trace("/dev/full", 0, 10);
        EXPECT_NE(trace.fault(), "");
    }
}

}  // namespace
}  // namespace qkprof::exec
