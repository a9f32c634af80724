// What qkprof hlo prints, against golden files (tests/golden/hlo*). QKPROF_UPDATE_GOLDEN=1 build/tests/hlo_table writes
// them anew.
#include "hlo/promise_table.h"

#include "golden.h"
#include "hlo/promise_json.h"
#include "hlo_data.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace qkprof::hlo {
namespace {

using testing::HasSubstr;

std::string table_of(const std::string& name) {
    const Promised p(data_text(name));
    return to_text(promise_table(p.promise, nullptr, {}), false);
}

TEST(HloTable, OfTheOperation) { expect_golden("hlo_operation.txt", table_of("h200/qk_seed.hlo")); }

TEST(HloTable, OfALoopWithALibraryCall) { expect_golden("hlo_loop.txt", table_of("h200/loop.hlo")); }

TEST(HloTable, OfAPartitionOfTwo) { expect_golden("hlo_partition.txt", table_of("h200/shard_permute.hlo")); }

TEST(HloTable, OfACpu) { expect_golden("hlo_cpu.txt", table_of("cpu/qk_prefill.hlo")); }

TEST(HloTable, OfAnExcerptAsMarkdownAndRows) {
    const Promised p(data_text("documents/qk_norm_rope_pallas.hlo"));
    expect_golden("hlo.md", to_markdown(promise_table(p.promise, nullptr, {})));
    expect_golden("hlo.csv", to_csv(promise_rows(p.promise, nullptr)));
    expect_golden("hlo.json", json_text(p.promise, {}));
}

TEST(HloTable, BesideWhatRan) {
    const Promised p(data_text("h200/transp.hlo"));
    exec::ExecProfile profile;
    profile.complete = true;
    exec::RangeRow& range = profile.ranges.emplace_back();
    range.name = "call";
    range.calls = 10;
    const auto ran = [&](const char* name, std::uint64_t count) {
        range.work.kernels.emplace_back();
        range.work.kernels.back().name = name;
        range.work.kernels.back().count = count;
    };
    ran("loop_slice_fusion", 10);
    ran("loop_slice_fusion_1", 10);
    ran("input_concatenate_fusion", 25);
    ran("stray", 10);
    const Observed observed = observe(p.promise, profile, {&range});
    expect_golden("hlo_observed.txt", to_text(promise_table(p.promise, &observed, {"And more."}), false));
    const nlohmann::json json = nlohmann::json::parse(json_text(p.promise, {.observed = &observed}));
    EXPECT_EQ(json["totals"]["fusions"]["observed"], 4.5);
    EXPECT_EQ(json["totals"]["custom_calls"]["observed"], 0);
    EXPECT_EQ(json["instructions"][1]["observed"], 1);
    EXPECT_EQ(json["observed"]["broken"], true);
    EXPECT_EQ(json["observed"]["differences"].size(), 3U);
}

TEST(HloTable, TextThatIsNoUtf8IsStillJson) {
    const Promised p(in_module("  ROOT %a = f32[] constant(1), metadata={op_name=\"\xff\x1b\"}\n"));
    EXPECT_EQ(nlohmann::json::parse(json_text(p.promise, {}))["instructions"][0]["op_name"], "\xef\xbf\xbd\x1b");
}

TEST(HloTable, CountsAreSaidInWords) {
    const auto of = [](const std::string& entry, const std::string& before = "") {
        const Promised p(in_module(entry, before));
        return to_text(promise_table(p.promise, nullptr, {}), false);
    };
    const std::string x = "  %x = f32[8] parameter(0)\n";
    const std::string nothing = of("  ROOT %x = f32[8] parameter(0)\n");
    EXPECT_THAT(nothing, HasSubstr("Nothing is launched for 1 parameter.\nPromises no kernel.\n"));
    const std::string foreign = of(x + "  ROOT %a = f32[8] custom-call(%x), custom_call_target=\"mine\"\n");
    EXPECT_THAT(foreign, HasSubstr("1 custom call: an unknown number of kernels."));
    EXPECT_THAT(foreign, HasSubstr("Promises any number of kernels an execution"));
    const std::string library = of(x + "  ROOT %a = f32[8] fft(%x), fft_type=FFT, fft_length={8}\n");
    EXPECT_THAT(library, HasSubstr("1 library call: at least 1 kernel."));
    const std::string body = "%body {\n  %y = f32[8] parameter(0)\n  ROOT %z = f32[8] negate(%y)\n}\n\n";
    const std::string around =
        "%around {\n  %y = f32[8] parameter(0)\n  ROOT %w = f32[8] while(%y), body=%body, "
        "backend_config={\"known_trip_count\":{\"n\":\"9000000000000000000\"}}\n}\n\n";
    const std::string turns =
        "  ROOT %o = f32[8] while(%x), body=%around, "
        "backend_config={\"known_trip_count\":{\"n\":\"9000000000000000000\"}}\n";
    const std::string many = of(x + turns, body + around);
    EXPECT_THAT(many, HasSubstr("Promises more kernels an execution than can be counted."));
    EXPECT_THAT(many, HasSubstr("it moves more bytes than can be counted"));
    EXPECT_THAT(many, testing::Not(HasSubstr("18446744073709551615")));
    EXPECT_THAT(many, testing::Not(HasSubstr("PiB")));
    for (const char* wrong : {"-3", "99999999999999999999"}) {
        const std::string loop = fmt::format(
            "  ROOT %o = f32[8] while(%x), body=%body, backend_config={{\"known_trip_count\":{{\"n\":\"{}\"}}}}\n",
            wrong);
        const std::string table = of(x + loop, body);
        EXPECT_THAT(table, HasSubstr(fmt::format("its known_trip_count, {}, is no count of turns", wrong)));
    }
}

TEST(HloTable, ATextThatIsNotOptimisedIsSaidToBe) {
    EXPECT_THAT(table_of("h200/qk_seed.before.hlo"), HasSubstr("it is no optimised HLO"));
    EXPECT_THAT(table_of("h200/qk_seed.hlo"), testing::Not(HasSubstr("it is no optimised HLO")));
}

}  // namespace
}  // namespace qkprof::hlo
