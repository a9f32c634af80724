// Messages -> profile, of processes that are made up.
#include "error.h"
#include "exec_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

namespace qkprof::exec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ExecProfile profile_of(const Collector& collector) { return collector.profile(1'000'000); }

const RangeRow& range(const ExecProfile& profile, const std::string& text) {
    const auto found = std::find_if(profile.ranges.begin(), profile.ranges.end(),
                                    [&](const RangeRow& row) { return text_of(row) == text; });
    EXPECT_NE(found, profile.ranges.end()) << text;
    return *found;
}

std::string remarks_of(const ProcessRow& process) {
    std::string text;
    for (const std::string& remark : process.remarks) {
        text += remark + "\n";
    }
    return text;
}

TEST(ExecCollector, KernelsAreRowsByTheirReadableNames) {
    Collector collector;
    MadeUpProcess process(collector);
    process.kernel(process.submit(), "_Z5shortPf", 1000, 10);
    process.kernel(process.submit(), "plain C name", 2000, 500);
    process.kernel(process.submit(), "_Z5shortPf", 3000, 30);
    process.copy(process.submit(0, SubmissionKind::copy), 3010, 40, 4096);
    process.goodbye();
    process.close();
    const ExecProfile profile = profile_of(collector);
    ASSERT_EQ(profile.work.kernels.size(), 2U);
    EXPECT_EQ(profile.work.kernels[0].name, "plain C name");
    const KernelRow& kernel = profile.work.kernels[1];
    EXPECT_EQ(kernel.name, "short(float*)");
    EXPECT_EQ(kernel.count, 2U);
    EXPECT_DOUBLE_EQ(kernel.seconds->total, 40e-9);
    EXPECT_DOUBLE_EQ(kernel.seconds->least, 10e-9);
    EXPECT_DOUBLE_EQ(kernel.seconds->most, 30e-9);
    ASSERT_EQ(kernel.forms.size(), 1U);
    EXPECT_EQ(kernel.forms[0].count, 2U);
    EXPECT_EQ(profile.work.launches, 3U);
    EXPECT_EQ(profile.work.submissions, 4U);
    EXPECT_EQ(profile.work.transfers, 1U);
    ASSERT_EQ(profile.work.copies.size(), 1U);
    EXPECT_EQ(profile.work.copies[0].bytes, 4096U);
    EXPECT_DOUBLE_EQ(profile.work.busy_seconds, (10 + 500 + 50) * 1e-9);
    EXPECT_DOUBLE_EQ(profile.work.span_seconds, 2050e-9);
    ASSERT_EQ(profile.processes.size(), 1U);
    EXPECT_TRUE(profile.processes[0].all_sent);
    EXPECT_EQ(profile.processes[0].without_record, 0U);
    EXPECT_EQ(remarks_of(profile.processes[0]), "");
}

TEST(ExecCollector, AGraphIsOneSubmissionOfManyLaunches) {
    Collector collector;
    MadeUpProcess process(collector);
    const std::uint64_t step = process.push("step");
    const std::uint32_t graph = process.submit(step, SubmissionKind::graph);
    process.pop(step);
    for (std::uint64_t node = 0; node < 5; ++node) {
        process.kernel(graph, "node", 1000 + node * 20, 10, 0, 3);
    }
    process.goodbye();
    process.close();
    const ExecProfile profile = profile_of(collector);
    EXPECT_EQ(profile.work.launches, 5U);
    EXPECT_EQ(profile.work.submissions, 1U);
    const RangeRow& row = range(profile, "step");
    ASSERT_EQ(row.first_calls.size(), 1U);
    EXPECT_EQ(row.first_calls[0].launches, 5U);
    EXPECT_EQ(row.first_calls[0].submissions, 1U);
    EXPECT_DOUBLE_EQ(row.first_calls[0].busy_seconds, 50e-9);
    EXPECT_DOUBLE_EQ(row.first_calls[0].span_seconds, 90e-9);
    EXPECT_DOUBLE_EQ(*row.first_calls[0].host_seconds, 500e-9);
    EXPECT_TRUE(row.work.kernels.at(0).forms.at(0).graph);
    EXPECT_EQ(profile.processes[0].without_record, 0U);
}

TEST(ExecCollector, OfGraphLaunchesTheLastAreKept) {
    Collector::Limits limits;
    limits.submissions.graphs = 10;
    Collector collector(nullptr, limits);
    MadeUpProcess process(collector);
    std::vector<std::uint32_t> graphs;
    for (int i = 0; i < 11; ++i) {
        graphs.push_back(process.submit(0, SubmissionKind::graph));
    }
    EXPECT_EQ(collector.sizes(process.connection()).submissions, 10U);
    process.kernel(graphs.at(0), "node", 1000, 10);
    process.kernel(graphs.at(1), "node", 2000, 10);
    process.goodbye();
    process.close();
    EXPECT_EQ(profile_of(collector).processes[0].without_submission, 1U);
    EXPECT_EQ(profile_of(collector).work.launches, 2U);
}

TEST(ExecCollector, RangesNestAcrossDomainsAndTheInnerIsAPartOfTheOuter) {
    Collector collector;
    MadeUpProcess process(collector);
    for (int i = 0; i < 3; ++i) {
        const std::uint64_t outer = process.push("layer", 0, "model");
        process.launch(outer, "own", 1000 + static_cast<std::uint64_t>(i) * 1000);
        const std::uint64_t inner = process.push("norm", outer, "library");
        process.launch(inner, "norm", 1005 + static_cast<std::uint64_t>(i) * 1000);
        process.pop(inner);
        process.pop(outer);
    }
    const std::uint64_t alone = process.push("norm", 0, "library");
    process.launch(alone, "norm", 9000);
    process.pop(alone);
    process.goodbye();
    process.close();
    const ExecProfile profile = profile_of(collector);
    ASSERT_EQ(profile.ranges.size(), 3U);
    EXPECT_EQ(text_of(profile.ranges[0]), "model@layer");
    EXPECT_EQ(profile.ranges[0].work.launches, 6U);
    EXPECT_EQ(profile.ranges[0].calls, 3U);
    EXPECT_DOUBLE_EQ(profile.ranges[0].work.busy_seconds, 3 * 15e-9);
    EXPECT_EQ(text_of(profile.ranges[1]), "library@norm");
    EXPECT_THAT(profile.ranges[1].inside, ElementsAre("model@layer"));
    EXPECT_EQ(profile.ranges[1].work.launches, 3U);
    EXPECT_EQ(profile.ranges[1].most_launches, 1U);
    EXPECT_TRUE(profile.ranges[2].inside.empty());
    EXPECT_EQ(profile.ranges[2].calls, 1U);
}

TEST(ExecCollector, WhatWasCapturedOrFailedIsNoSubmission) {
    Collector collector;
    MadeUpProcess process(collector);
    const std::uint64_t capture = process.push("capture");
    for (int i = 0; i < 4; ++i) {
        process.cancel(process.submit(capture));
    }
    process.cancel(12345);  // not known: nothing
    process.pop(capture);
    process.goodbye();
    process.close();
    const ExecProfile profile = profile_of(collector);
    EXPECT_EQ(profile.work.submissions, 0U);
    EXPECT_EQ(range(profile, "capture").work.submissions, 0U);
    EXPECT_EQ(range(profile, "capture").first_calls.at(0).submissions, 0U);
    EXPECT_EQ(profile.processes[0].without_record, 0U);
}

TEST(ExecCollector, ProcessesAreSummedAndTheirGpusAreApart) {
    Collector collector;
    MadeUpProcess parent(collector, 100);
    parent.launch(0, "same", 1000, 100);
    MadeUpProcess child(collector, 101);
    const std::uint64_t step = child.push("step");
    child.launch(step, "same", 1050, 100);
    child.pop(step);
    MadeUpProcess quiet(collector, 102, 0);
    parent.goodbye();
    parent.close();
    child.goodbye();
    child.close();
    quiet.close();
    const ExecProfile profile = profile_of(collector);
    ASSERT_EQ(profile.processes.size(), 3U);
    EXPECT_FALSE(profile.processes[2].has_gpu_work());
    EXPECT_EQ(remarks_of(profile.processes[2]), "");  // it had nothing to send
    ASSERT_EQ(profile.work.kernels.size(), 1U);
    EXPECT_EQ(profile.work.kernels[0].count, 2U);
    EXPECT_DOUBLE_EQ(profile.work.busy_seconds, 200e-9);
    EXPECT_EQ(profile.ranges.size(), 1U);
}

TEST(ExecCollector, AProcessThatWasKilledIsSaidToLackRecords) {
    Collector collector;
    MadeUpProcess process(collector);
    const std::uint64_t step = process.push("step");
    process.launch(step, "done", 1000);
    (void)process.submit(step);
    (void)process.submit(step, SubmissionKind::copy);
    (void)process.submit(step, SubmissionKind::graph);  // may be of no node
    process.tell(MessageKind::flushed, Flushed{.time = 2'000'000'000});
    process.close(4'500'000'000);
    const ExecProfile profile = profile_of(collector);
    EXPECT_FALSE(profile.processes[0].all_sent);
    EXPECT_EQ(profile.processes[0].without_record, 2U);
    EXPECT_THAT(
        remarks_of(profile.processes[0]),
        HasSubstr(
            "ended, or was killed, before its last records were sent: what it submitted in its last "
            "moments may be missing, 2 submission(s) have no record, and all records were last sent 2.5 s before."));
    const RangeRow& row = range(profile, "step");
    EXPECT_EQ(row.without_record, 2U);
    EXPECT_EQ(row.open, 1U);
    EXPECT_FALSE(row.first_calls.at(0).host_seconds);
}

TEST(ExecCollector, AProcessThatStillRunsIsInTheProfileAndGoesOn) {
    Collector collector;
    MadeUpProcess process(collector);
    const std::uint64_t step = process.push("step");
    process.launch(step, "first", 1000);
    const ExecProfile before = profile_of(collector);
    EXPECT_EQ(before.work.launches, 1U);
    EXPECT_EQ(before.ranges.at(0).open, 1U);
    EXPECT_THAT(remarks_of(before.processes[0]), HasSubstr("It still ran: what it submitted"));
    process.launch(step, "second", 2000);
    process.pop(step);
    process.goodbye();
    process.close();
    const ExecProfile after = profile_of(collector);
    EXPECT_EQ(after.work.launches, 2U);
    EXPECT_EQ(after.ranges.at(0).open, 0U);
    EXPECT_EQ(after.ranges.at(0).first_calls.at(0).launches, 2U);
    EXPECT_EQ(remarks_of(after.processes[0]), "");
}

TEST(ExecCollector, WhatIsMissingIsSaid) {
    Collector collector;
    MadeUpProcess process(collector);
    process.tell(MessageKind::dropped, Dropped{.records = 7});
    process.tell(encoded_text(MessageKind::failure, "CUPTI is \x1b[2Jtoo old"));
    process.tell(encoded_text(MessageKind::remark, "The clock is coarse."));
    process.kernel(999, "of nobody", 1000, 10);
    process.kernel(process.submit(), "no time", 0, 0);
    process.goodbye();
    process.close();
    const ExecProfile profile = profile_of(collector);
    EXPECT_EQ(profile.processes[0].dropped, 7U);
    EXPECT_EQ(profile.processes[0].failure, "CUPTI is \\x1b[2Jtoo old");
    EXPECT_EQ(profile.processes[0].without_submission, 1U);
    EXPECT_THAT(remarks_of(profile.processes[0]), HasSubstr("The clock is coarse.\n1 record(s) carry no time"));
    EXPECT_EQ(profile.work.launches, 2U);
    const auto timeless = std::find_if(profile.work.kernels.begin(), profile.work.kernels.end(),
                                       [](const KernelRow& kernel) { return kernel.name == "no time"; });
    EXPECT_EQ(timeless->without_time, 1U);
    EXPECT_FALSE(timeless->seconds);
    EXPECT_DOUBLE_EQ(profile.work.busy_seconds, 10e-9);
}

TEST(ExecCollector, ACopyInSeveralPiecesIsOfOneSubmission) {
    Collector collector;
    MadeUpProcess process(collector);
    const std::uint32_t copy = process.submit(0, SubmissionKind::copy);
    process.copy(copy, 1000, 10, 100);
    process.copy(copy, 1010, 10, 100);
    process.goodbye();
    process.close();
    EXPECT_EQ(profile_of(collector).processes[0].without_submission, 0U);
    EXPECT_EQ(profile_of(collector).work.copies.at(0).count, 2U);
}

TEST(ExecCollector, NonsenseIsRefused) {
    const auto refusal = [](const std::string& bytes) {
        Collector collector;
        MadeUpProcess process(collector);
        try {
            process.tell(bytes);
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string("none");
    };
    EXPECT_EQ(refusal(encoded(MessageKind::hello, Hello())), "a second hello");
    EXPECT_EQ(refusal(encoded(MessageKind::kernel, Kernel{.name = 5})), "a name of the number 5, which it never told");
    EXPECT_EQ(refusal(encoded(MessageKind::device, Device{.device = 4'000'000'000}, "x")),
              "a GPU of the number 4000000000");
    EXPECT_EQ(refusal(encoded(MessageKind::transfer, Transfer{.kind = static_cast<TransferKind>(9)})),
              "a transfer of the unknown kind 9");
    EXPECT_EQ(refusal(encoded(MessageKind::submission, Submission{.kind = static_cast<SubmissionKind>(9)})),
              "a submission of the unknown kind 9");
    const std::string name = encoded(MessageKind::name, Name{.name = 1}, "x");
    EXPECT_EQ(refusal(name + encoded(MessageKind::push, Push{.range = 3, .parent = 3, .name = 1})),
              "a range of the number 3 in that of the number 3");
    EXPECT_EQ(refusal(name + encoded(MessageKind::push, Push{.range = 0, .name = 1})),
              "a range of the number 0 in that of the number 0");
    EXPECT_EQ(refusal(encoded(MessageKind::pop, Pop{.range = 77})), "none");

    Collector collector;
    const std::uint32_t connection = collector.opened();
    Decoder decoder;
    decoder.feed(encoded(MessageKind::hello, Hello{.protocol = protocol_version + 1, .process = 3}));
    EXPECT_THROW(collector.receive(connection, *decoder.next()), InputError);
    collector.closed(connection, 1, "another build");
    EXPECT_EQ(profile_of(collector).processes.at(0).failure, "another build");
    EXPECT_EQ(profile_of(collector).processes.at(0).process, 3);
}

}  // namespace
}  // namespace qkprof::exec
