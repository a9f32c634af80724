// The judgement of calibration readings, on made-up ones: a right instrument passes, a planted wrong counter does not.
#include "calibration.h"

#include "doctor.h"
#include "fake_device.h"
#include "profile.h"
#include "results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace qkprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CalibrationWork work() {
    CalibrationWork work;
    work.evicting_bytes = std::int64_t{120} << 20;
    return work;
}

// What an instrument without fault reads.
Readings right_readings() {
    Readings readings;
    for (const KnownNumber& known : known_numbers(work())) {
        readings[known.range][known.counter] = counted(known.expected);
    }
    return readings;
}

Calibration calibration_of(const Readings& readings) {
    return {.date = "2026-11-30T00:15:13+00:00",
            .seconds = 0.5,
            .failure = {},
            .rows = compare(known_numbers(work()), readings)};
}

Diagnosis diagnosis_of(const Readings& readings) {
    Diagnosis diagnosis;
    diagnosis.sections = {{"GPU", {{"name", "a GPU of the tests"}}}};
    diagnosis.calibration = calibration_of(readings);
    return diagnosis;
}

double expected(const std::string& range, const std::string& counter) {
    for (const KnownNumber& known : known_numbers(work())) {
        if (known.range == range && known.counter == counter) {
            return known.expected;
        }
    }
    ADD_FAILURE() << range << " " << counter;
    return -1;
}

TEST(KnownNumbers, FollowFromTheWork) {
    EXPECT_EQ(expected("read", "dram_read_bytes"), 268435456);
    EXPECT_EQ(expected("read", "global_load_sectors"), 8388608);
    EXPECT_EQ(expected("write", "dram_write_bytes"), 268435456);
    EXPECT_EQ(expected("copy", "dram_read_bytes"), 134217728 + 125829120);
    EXPECT_EQ(expected("copy", "dram_write_bytes"), 134217728);
    EXPECT_EQ(expected("copy", "global_load_sectors"), 4194304 + 3932160);
    EXPECT_EQ(expected("kept", "dram_read_bytes"), 4194304);
    EXPECT_EQ(expected("resident", "dram_read_bytes"), 0);
    EXPECT_EQ(expected("resident", "l2_read_sectors"), 131072);
    EXPECT_EQ(expected("strided", "global_load_sectors"), 4096 * 32);
    EXPECT_EQ(expected("strided", "global_store_sectors"), 4096 * 8);
    EXPECT_EQ(expected("shared", "shared_wavefronts"), 32 * 64 * (1 + 1 + 2 + 32));
    EXPECT_EQ(expected("shared", "bank_conflicts"), 32 * 64 * (1 + 31));
    EXPECT_EQ(expected("graph", "launches"), 5);
    EXPECT_EQ(expected("graph", "submissions"), 1);
}

TEST(KnownNumbers, AreOfCountersThatThereAre) {
    for (const KnownNumber& known : known_numbers(work())) {
        EXPECT_TRUE(is_own_metric(known.counter)) << known.counter;
    }
}

TEST(Calibration, ARightInstrumentPasses) {
    const Diagnosis diagnosis = diagnosis_of(right_readings());
    EXPECT_EQ(diagnosis.calibration.rows.size(), known_numbers(work()).size());
    EXPECT_EQ(verdict_of(diagnosis), Exit::passed);
    EXPECT_THAT(advice_of(diagnosis), IsEmpty());
}

TEST(Calibration, DramMayBeOffByOnePercentAndTheRestNotAtAll) {
    Readings readings = right_readings();
    *readings["read"]["dram_read_bytes"].value *= 0.993;
    *readings["write"]["dram_write_bytes"].value *= 1.003;
    *readings["resident"]["dram_read_bytes"].value = 3072;
    EXPECT_EQ(verdict_of(diagnosis_of(readings)), Exit::passed);
    *readings["read"]["dram_read_bytes"].value *= 0.995;
    EXPECT_EQ(verdict_of(diagnosis_of(readings)), Exit::failed);
    for (const auto& [range, counter] : {std::pair{"strided", "global_load_sectors"},
                                         {"copy", "global_store_sectors"},
                                         {"shared", "shared_wavefronts"},
                                         {"shared", "bank_conflicts"},
                                         {"graph", "launches"}}) {
        SCOPED_TRACE(counter);
        Readings one_off = right_readings();
        *one_off[range][counter].value += 1;
        EXPECT_EQ(verdict_of(diagnosis_of(one_off)), Exit::failed);
    }
}

// The kinds of wrong counters that there are in the world: half, and 1.5 times; and one that always reads nothing.
TEST(Calibration, AnyCounterThatIsPlantedWrongIsCalledOff) {
    for (const double factor : {1.5, 0.5, 0.0, std::numeric_limits<double>::quiet_NaN()}) {
        for (const KnownNumber& known : known_numbers(work())) {
            if (known.expected == 0) {
                continue;
            }
            SCOPED_TRACE(known.range + " " + known.counter);
            Readings readings = right_readings();
            *readings[known.range][known.counter].value *= factor;
            const Diagnosis diagnosis = diagnosis_of(readings);
            EXPECT_EQ(verdict_of(diagnosis), Exit::failed);
            ASSERT_EQ(faults_of(diagnosis.calibration).size(), 1U);
            EXPECT_THAT(faults_of(diagnosis.calibration)[0], HasSubstr(known.counter + " reads wrong"));
            const auto& rows = diagnosis.calibration.rows;
            EXPECT_EQ(std::count_if(rows.begin(), rows.end(),
                                    [](const CalibrationRow& row) { return agreement_of(row) == Agreement::off; }),
                      1);
        }
    }
}

TEST(Calibration, AResidentCopyThatIsCalledDramTrafficIsOff) {
    Readings readings = right_readings();
    readings["resident"]["dram_read_bytes"] = counted(4 << 20);
    EXPECT_EQ(verdict_of(diagnosis_of(readings)), Exit::failed);
}

TEST(Calibration, WhatCouldNotBeReadIsNotOkAndIsSaidOnce) {
    Readings readings = right_readings();
    for (auto& [range, counters] : readings) {
        for (auto& [name, counter] : counters) {
            if (range != "graph") {
                counter = {.value = {}, .source = Source::counted, .reason = "no permission"};
            }
        }
    }
    const Diagnosis diagnosis = diagnosis_of(readings);
    EXPECT_EQ(verdict_of(diagnosis), Exit::cannot_measure);
    const std::vector<std::string> advice = advice_of(diagnosis);
    ASSERT_EQ(advice.size(), 2U);
    EXPECT_THAT(advice[0], HasSubstr("dram_read_bytes"));
    EXPECT_THAT(advice[0], HasSubstr("could not be read: no permission."));
    EXPECT_THAT(advice[1], HasSubstr("qkprof run verifies and times"));
    EXPECT_EQ(agreement_of(diagnosis.calibration.rows.front()), Agreement::unread);
    EXPECT_EQ(deviation_text(diagnosis.calibration.rows.front()), "");
}

TEST(Calibration, AWrongCounterOutweighsAnUnreadOne) {
    Readings readings = right_readings();
    readings["read"]["dram_read_bytes"] = {.value = {}, .source = Source::counted, .reason = "no reason"};
    *readings["shared"]["bank_conflicts"].value *= 2;
    EXPECT_EQ(verdict_of(diagnosis_of(readings)), Exit::failed);
}

TEST(Calibration, NoneIsNotAPassedOne) {
    Diagnosis diagnosis;
    EXPECT_EQ(verdict_of(diagnosis), Exit::cannot_measure);
    diagnosis.no_gpu = "cuda:0 cannot be opened: there is none.";
    EXPECT_EQ(verdict_of(diagnosis), Exit::cannot_measure);
    EXPECT_THAT(advice_of(diagnosis), ElementsAre(diagnosis.no_gpu, HasSubstr("--device emulated")));
}

TEST(Deviation, IsInPercentWhereThatHasAMeaning) {
    const auto text = [](double expected_value, double read) {
        return deviation_text({"", "", expected_value, 0, read, ""});
    };
    EXPECT_EQ(text(200, 200), "0");
    EXPECT_EQ(text(200, 300), "+50.000 %");
    EXPECT_EQ(text(200, 199), "-0.500 %");
    EXPECT_EQ(text(0, 512), "+512");
}

TEST(DiagnosisTables, ShowEveryRowAndTheWrongOnesAsBad) {
    Readings readings = right_readings();
    *readings["write"]["dram_write_bytes"].value /= 2;
    const Diagnosis diagnosis = diagnosis_of(readings);
    const std::vector<Table> tables = diagnosis_tables(diagnosis);
    ASSERT_EQ(tables.size(), 2U);
    EXPECT_THAT(to_text(tables[0], false), HasSubstr("a GPU of the tests"));
    EXPECT_EQ(tables[1].sections.at(0).rows.size(), diagnosis.calibration.rows.size());
    EXPECT_THAT(to_text(tables[1], false), HasSubstr("-50.000 %"));
    EXPECT_THAT(to_markdown(tables[1]), HasSubstr("dram_write_bytes reads wrong"));
    const std::string csv = to_csv(diagnosis_rows(diagnosis));
    EXPECT_THAT(csv, HasSubstr("134217728,dram_write_bytes,268435456,2684354.56,-134217728,off,"));
    EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'),
              static_cast<std::ptrdiff_t>(2 + diagnosis.calibration.rows.size()));
}

Profile profile_with(const Calibration& calibration) {
    FakeDevice device;
    Profile profile;
    profile.environment = environment_of(device.info(), "qkprof");
    profile.environment.complete = true;
    profile.environment.calibration = calibration;
    return profile;
}

TEST(Calibration, IsKeptInTheProfile) {
    Readings readings = right_readings();
    *readings["write"]["dram_write_bytes"].value /= 2;
    readings["graph"]["launches"] = {.value = {}, .source = Source::counted, .reason = "records were dropped"};
    const std::string json = to_json(profile_with(calibration_of(readings)));
    const Profile profile = parse_profile(json, "memory");
    const Calibration& read = profile.environment.calibration;
    EXPECT_EQ(read.date, "2026-11-30T00:15:13+00:00");
    EXPECT_EQ(read.seconds, 0.5);
    EXPECT_EQ(read.rows.size(), known_numbers(work()).size());
    EXPECT_THAT(faults_of(read), ElementsAre(HasSubstr("dram_write_bytes")));
    EXPECT_THAT(gaps_of(read), ElementsAre("launches could not be read: records were dropped."));
    EXPECT_EQ(to_json(profile), json);
    EXPECT_THAT(results_table(profile).notes, ElementsAre(HasSubstr("calibration: dram_write_bytes reads wrong")));
}

TEST(Calibration, WhyThereIsNoneIsKeptInTheProfile) {
    Calibration none;
    none.failure = "There is no GPU.";
    const std::string json = to_json(profile_with(none));
    EXPECT_EQ(parse_profile(json, "memory").environment.calibration.failure, "There is no GPU.");
    EXPECT_THAT(results_table(parse_profile(json, "memory")).notes, IsEmpty());
}

}  // namespace
}  // namespace qkprof
