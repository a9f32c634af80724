#include "calibration.h"

#include "names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace qkprof {
namespace {

constexpr double sector_bytes = 32;
constexpr double sectors_of_strided_load = 32;  // each lane a sector of its own
constexpr double sectors_of_strided_store = 8;  // four lanes share one
// Of the accesses of one round: a store and a load without conflicts, a load with a stride of 2 words, a store with one
// of 32, which are all in one bank.
constexpr double wavefronts_of_round = 1 + 1 + 2 + 32;
constexpr double conflicts_of_round = 0 + 0 + 1 + 31;
constexpr double dram_tolerance = 0.01;

std::string mebibytes(std::int64_t bytes) { return fmt::format("{} MiB", bytes >> 20); }

}  // namespace

std::vector<KnownNumber> known_numbers(const CalibrationWork& work) {
    std::vector<KnownNumber> known;
    const auto add = [&](const char* range, const std::string& what, const char* counter, double expected,
                         double allowed) {
        known.push_back({range, what, counter, expected, allowed});
    };
    const auto near = [&](const char* range, const std::string& what, const char* counter, double expected,
                          double tolerance) { add(range, what, counter, expected, expected * tolerance); };
    const auto stream = static_cast<double>(work.stream_bytes);
    const auto copy = static_cast<double>(work.copy_bytes);
    const auto resident = static_cast<double>(work.resident_bytes);
    const auto evicting = static_cast<double>(work.evicting_bytes);

    std::string what = fmt::format("read of {}, cold", mebibytes(work.stream_bytes));
    near("read", what, "dram_read_bytes", stream, dram_tolerance);
    add("read", what, "l2_read_sectors", stream / sector_bytes, 0);
    add("read", what, "global_load_sectors", stream / sector_bytes, 0);
    add("read", what, "global_store_sectors", 0, 0);

    const std::string then_read = fmt::format("cold, then a read of {} that evicts it", mebibytes(work.evicting_bytes));
    what = fmt::format("write of {}, {}", mebibytes(work.stream_bytes), then_read);
    near("write", what, "dram_write_bytes", stream, dram_tolerance);
    add("write", what, "l2_write_sectors", stream / sector_bytes, 0);
    add("write", what, "global_store_sectors", stream / sector_bytes, 0);

    what = fmt::format("copy of {}, {}", mebibytes(work.copy_bytes), then_read);
    near("copy", what, "dram_read_bytes", copy + evicting, dram_tolerance);
    near("copy", what, "dram_write_bytes", copy, dram_tolerance);
    add("copy", what, "global_load_sectors", (copy + evicting) / sector_bytes, 0);
    add("copy", what, "global_store_sectors", copy / sector_bytes, 0);

    what = fmt::format("read of {}, cold, which the L2 was asked to keep before", mebibytes(work.resident_bytes));
    near("kept", what, "dram_read_bytes", resident, dram_tolerance);

    what = fmt::format("copy of {}, resident in the L2", mebibytes(work.resident_bytes));
    add("resident", what, "dram_read_bytes", 0, resident * dram_tolerance);
    add("resident", what, "dram_write_bytes", 0, resident * dram_tolerance);
    add("resident", what, "l2_read_sectors", resident / sector_bytes, 0);
    add("resident", what, "l2_write_sectors", resident / sector_bytes, 0);

    what = "loads 32 bytes apart, stores 8 bytes apart";
    add("strided", what, "global_load_sectors", work.strided_warps * sectors_of_strided_load, 0);
    add("strided", what, "global_store_sectors", work.strided_warps * sectors_of_strided_store, 0);

    what = "shared memory, strides of 1, 2 and 32 words";
    const double rounds = static_cast<double>(work.shared_warps) * work.shared_rounds;
    add("shared", what, "shared_wavefronts", rounds * wavefronts_of_round, 0);
    add("shared", what, "bank_conflicts", rounds * conflicts_of_round, 0);

    what = fmt::format("graph of {} kernels and a fill, replayed {} times", work.graph_kernels, work.graph_replays);
    add("graph", what, "launches", work.graph_kernels, 0);
    add("graph", what, "submissions", 1, 0);
    add("graph", what, "transfers", 1, 0);
    return known;
}

Agreement agreement_of(const CalibrationRow& row) {
    if (!row.read) {
        return Agreement::unread;
    }
    // Not the other way round: what is no number agrees with nothing.
    return std::abs(*row.read - row.expected) <= row.allowed ? Agreement::ok : Agreement::off;
}

std::string deviation_text(const CalibrationRow& row) {
    if (!row.read) {
        return {};
    }
    const double deviation = *row.read - row.expected;
    if (deviation == 0) {
        return "0";
    }
    return row.expected == 0 ? fmt::format("{:+}", deviation)
                             : fmt::format("{:+.3f} %", deviation / row.expected * 100);
}

std::vector<CalibrationRow> compare(const std::vector<KnownNumber>& known, const Readings& readings) {
    std::vector<CalibrationRow> rows;
    for (const KnownNumber& number : known) {
        const auto range = readings.find(number.range);
        if (range == readings.end()) {
            continue;
        }
        CalibrationRow row = {number.what, number.counter, number.expected, number.allowed, {}, {}};
        const auto counter = range->second.find(number.counter);
        if (counter == range->second.end()) {
            row.reason = "it was not read";
        } else {
            row.read = counter->second.value;
            row.reason = counter->second.reason;
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

std::vector<std::string> faults_of(const Calibration& calibration) {
    std::vector<std::string> sentences;
    for (const CalibrationRow& row : calibration.rows) {
        if (agreement_of(row) == Agreement::off) {
            sentences.push_back(fmt::format("{} reads wrong ({}): {} where {} is known.", row.counter, row.what,
                                            *row.read, row.expected));
        }
    }
    return sentences;
}

std::vector<std::string> gaps_of(const Calibration& calibration) {
    std::vector<std::string> sentences;
    if (!calibration.failure.empty()) {
        sentences.push_back(calibration.failure);
    }
    std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;  // few
    for (const CalibrationRow& row : calibration.rows) {
        if (agreement_of(row) != Agreement::unread) {
            continue;
        }
        auto known =
            std::find_if(by_reason.begin(), by_reason.end(), [&](const auto& r) { return r.first == row.reason; });
        if (known == by_reason.end()) {
            known = by_reason.insert(known, {row.reason, {}});
        }
        if (std::find(known->second.begin(), known->second.end(), row.counter) == known->second.end()) {
            known->second.push_back(row.counter);
        }
    }
    for (const auto& [reason, counters] : by_reason) {
        sentences.push_back(fmt::format("{} could not be read: {}.", joined(counters), reason));
    }
    return sentences;
}

}  // namespace qkprof
