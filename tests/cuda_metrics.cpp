// Metrics by CUPTI's host interface, which needs no GPU: the names exist on GH100, the standard ones cost two passes, a
// misspelt one is told the nearest; and counters from the values of metrics.
#include "cuda/traffic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

namespace qkprof::cuda {
namespace {

constexpr const char* hopper = "GH100";  // H100 and H200

class Metrics : public testing::Test {
  protected:
    void SetUp() override {
        const CuptiLibrary& library = cupti_library();
        if (const std::string& reason = library.failure.empty() ? library.metrics_failure : library.failure;
            !reason.empty()) {
            GTEST_SKIP() << reason;
        }
    }

    // What a name is answered with; empty if the chip has it.
    static std::string answer(const std::string& name) {
        try {
            const MetricSet metrics(hopper, {"dram__bytes_read.sum", name});
            return metrics.passes() > 0 ? "" : "no passes";
        } catch (const InputError& error) {
            return error.what();
        }
    }
};

TEST_F(Metrics, TheLibraryOfMetricsIsTheOneBesideCupti) {
    const std::filesystem::path cupti(cupti_library().path);
    EXPECT_TRUE(cupti.is_absolute()) << cupti;
    const std::filesystem::path beside = cupti.parent_path() / "libnvperf_host.so";
    const std::filesystem::path opened(cupti_library().metrics_path);
    EXPECT_TRUE(opened.is_absolute()) << opened;
    if (std::filesystem::exists(beside)) {
        EXPECT_EQ(opened, beside);
    }
}

TEST_F(Metrics, TheStandardOnesCostTwoPassesAndThoseOfBulkCopiesOne) {
    EXPECT_EQ(standard_metrics().size(), 12U);
    EXPECT_EQ(MetricSet(hopper, standard_metrics()).passes(), 2);
    EXPECT_EQ(bulk_metrics().size(), 2U);
    EXPECT_EQ(MetricSet(hopper, bulk_metrics()).passes(), 1);
}

TEST_F(Metrics, EachFurtherOneMayCostMore) {
    std::vector<std::string> names = standard_metrics();
    add_metrics(names, {"dram__bytes_read.sum"});  // is among them
    EXPECT_EQ(names.size(), 12U);
    add_metrics(names, {"lts__t_sector_hit_rate.pct", "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum"});
    EXPECT_EQ(names.size(), 14U);
    EXPECT_GT(MetricSet(hopper, names).passes(), 2);
}

TEST_F(Metrics, EveryKindOfNameIsAccepted) {
    for (const char* name : {"dram__bytes_read.sum.per_second", "lts__t_sector_hit_rate.pct",
                             "sm__throughput.avg.pct_of_peak_sustained_elapsed", "smsp__inst_executed.max"}) {
        EXPECT_EQ(answer(name), "") << name;
    }
}

TEST_F(Metrics, AnUnknownNameIsToldTheNearest) {
    EXPECT_EQ(answer("dram__bytes_raed.sum"),
              "The chip GH100 has no metric 'dram__bytes_raed.sum'. Did you mean 'dram__bytes_read.sum'?");
    EXPECT_EQ(answer("dram__bytes_write"),
              "The chip GH100 has no metric 'dram__bytes_write'. Did you mean 'dram__bytes_write.sum'?");
    EXPECT_EQ(answer("dram__bytes_write.summ"),
              "The chip GH100 has no metric 'dram__bytes_write.summ'. Did you mean 'dram__bytes_write.sum'?");
    EXPECT_EQ(answer("lts__t_sector_hit_rate"),
              "The chip GH100 has no metric 'lts__t_sector_hit_rate'. Did you mean 'lts__t_sector_hit_rate.pct'?");
    EXPECT_EQ(answer("sm__throughput"),
              "The chip GH100 has no metric 'sm__throughput'. Did you mean "
              "'sm__throughput.avg.pct_of_peak_sustained_elapsed'?");
    EXPECT_EQ(answer("what"), "The chip GH100 has no metric 'what', nor one with a name near to it.");
}

TEST_F(Metrics, AfterAnUnknownNameTheKnownOnesStillWork) {
    EXPECT_NE(answer("nonsense__x.sum"), "");
    EXPECT_EQ(answer("dram__bytes_write.sum"), "");
}

TEST_F(Metrics, AnUnknownChipIsSaid) { EXPECT_THROW(MetricSet("GX999", standard_metrics()), CannotMeasure); }

// Made-up values: the metric's index in the list.
MetricValues numbered() {
    MetricValues values;
    std::vector<std::string> names = standard_metrics();
    add_metrics(names, bulk_metrics());
    for (std::size_t i = 0; i < names.size(); ++i) {
        values[names[i]] = static_cast<double>(i);
    }
    return values;
}

TEST(CountersFrom, AddsUpTheMetricsOfACounter) {
    const Counters counters = counters_from(numbered(), false, {"smsp__inst_executed.sum"}, "none");
    EXPECT_EQ(counters.at("dram_read_bytes").value, 0.0);
    EXPECT_EQ(counters.at("dram_write_bytes").value, 1.0);
    EXPECT_EQ(counters.at("l2_read_sectors").value, 2.0);
    EXPECT_EQ(counters.at("l2_write_sectors").value, 3.0);
    EXPECT_EQ(counters.at("global_load_sectors").value, 4.0);
    EXPECT_EQ(counters.at("global_store_sectors").value, 5.0);
    EXPECT_EQ(counters.at("shared_wavefronts").value, 6.0 + 7.0);
    EXPECT_EQ(counters.at("bank_conflicts").value, 8.0 + 9.0);
    EXPECT_EQ(counters.at("achieved_occupancy").value, 10.0);
    EXPECT_EQ(counters.at("instructions").value, 11.0);
    EXPECT_EQ(counters.at("smsp__inst_executed.sum").value, 11.0);
    EXPECT_EQ(counters.size(), traffic_counters().size() + 1);
    for (const TrafficCounter& counter : traffic_counters()) {
        EXPECT_TRUE(is_own_metric(counter.name)) << counter.name;
    }
}

TEST(CountersFrom, AddsTheBulkCopyEngineWhereACallUsesIt) {
    const Counters counters = counters_from(numbered(), true, {}, "none");
    EXPECT_EQ(counters.at("global_load_sectors").value, 4.0 + 12.0);
    EXPECT_EQ(counters.at("global_store_sectors").value, 5.0 + 13.0);
    EXPECT_EQ(counters.at("dram_read_bytes").value, 0.0);
}

TEST(CountersFrom, ASumWithAMissingPartIsUnknown) {
    MetricValues values = numbered();
    values.erase(bulk_metrics().front());
    values["dram__bytes_write.sum"] = std::nan("");
    const Counters counters = counters_from(values, true, {"lts__x.sum"}, "the third pass failed");
    EXPECT_FALSE(counters.at("global_load_sectors").value.has_value());
    EXPECT_EQ(counters.at("global_load_sectors").reason, "the third pass failed");
    EXPECT_EQ(counters.at("global_store_sectors").value, 5.0 + 13.0);
    EXPECT_FALSE(counters.at("dram_write_bytes").value.has_value());
    EXPECT_NE(counters.at("dram_write_bytes").reason.find("no value of dram__bytes_write.sum"), std::string::npos);
    EXPECT_EQ(counters.at("lts__x.sum").reason, "the third pass failed");
}

}  // namespace
}  // namespace qkprof::cuda
