// Whether the instrument reads rightly: the counters of work whose traffic is known beforehand, against that knowledge.
// Only numbers are dealt with here; cuda/calibrator.h does the work and reads the counters.
#pragma once

#include "measurement.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace qkprof {

// What the kernels of the calibration are asked to do. The sizes are multiples of what a block of them takes.
struct CalibrationWork {
    std::int64_t stream_bytes = std::int64_t{256} << 20;  // read, and written, with a cold cache
    std::int64_t copy_bytes = std::int64_t{128} << 20;    // read and written
    std::int64_t resident_bytes = std::int64_t{4} << 20;  // likewise, again and again; and read to be kept
    // What is read after a cold write, in the same range: up to the L2's size of what was written last would stay there
    // and never be counted.
    std::int64_t evicting_bytes = 0;
    int strided_warps = 4096;
    int shared_warps = 32;  // no more than the GPU has multiprocessors, so that none waits for another
    int shared_rounds = 64;
    int graph_kernels = 5;
    int graph_replays = 3;
};

// A number that is known beforehand.
struct KnownNumber {
    std::string range;    // which work it is of: a name of the calibration's own
    std::string what;     // the same for people
    std::string counter;  // the name of a metric
    double expected = 0;
    double allowed = 0;  // how far a right counter may be off, in its unit
};
std::vector<KnownNumber> known_numbers(const CalibrationWork& work);

struct CalibrationRow {
    std::string what;
    std::string counter;
    double expected = 0;
    double allowed = 0;
    std::optional<double> read;
    std::string reason;  // why it was not read
};

enum class Agreement : std::uint8_t { ok, off, unread };
constexpr const char* name_of(Agreement agreement) {
    return agreement == Agreement::ok ? "ok" : agreement == Agreement::off ? "off" : "unread";
}
Agreement agreement_of(const CalibrationRow& row);

// "0" for what is exact, "+1.2 %", or in the counter's unit where 0 was expected; empty where nothing was read.
std::string deviation_text(const CalibrationRow& row);

struct Calibration {
    std::string date;
    double seconds = 0;   // that it took
    std::string failure;  // why nothing was calibrated, a sentence; then there are no rows
    std::vector<CalibrationRow> rows;
};

// By range, what was read of it.
using Readings = std::map<std::string, Counters, std::less<>>;

// The rows of the ranges that were read.
std::vector<CalibrationRow> compare(const std::vector<KnownNumber>& known, const Readings& readings);

// A sentence for each number that is off.
std::vector<std::string> faults_of(const Calibration& calibration);
// A sentence for each reason by which counters were not read; the failure too.
std::vector<std::string> gaps_of(const Calibration& calibration);

}  // namespace qkprof
