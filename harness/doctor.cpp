#include "doctor.h"

#include "device.h"

#ifdef QKPROF_WITH_CUDA
#include "cuda/diagnosis.h"
#endif

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace qkprof {
namespace {

constexpr const char* calibration_heading = "calibration";

bool any(const Calibration& calibration, Agreement agreement) {
    return std::any_of(calibration.rows.begin(), calibration.rows.end(),
                       [&](const CalibrationRow& row) { return agreement_of(row) == agreement; });
}

Style style_of(Agreement agreement) {
    return agreement == Agreement::ok ? Style::good : agreement == Agreement::off ? Style::bad : Style::faint;
}

// Bytes and counts are whole.
std::string number(double value) {
    return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
}

}  // namespace

Diagnosis diagnose(const std::string& device) {
    if (device == "emulated") {
        throw InputError(
            "The doctor examines a GPU, and the emulated device needs none: write auto, cuda (the first GPU) or "
            "cuda:N.");
    }
    const int ordinal = device == "auto" ? 0 : gpu_ordinal(device);
#ifdef QKPROF_WITH_CUDA
    return cuda::diagnose_gpu(ordinal);
#else
    Diagnosis diagnosis;
    diagnosis.no_gpu = fmt::format("cuda:{} cannot be opened: {}.", ordinal, discover_gpus().no_gpu_reason);
    return diagnosis;
#endif
}

Exit verdict_of(const Diagnosis& diagnosis) {
    const Calibration& calibration = diagnosis.calibration;
    if (any(calibration, Agreement::off)) {
        return Exit::failed;
    }
    const bool all_read = diagnosis.no_gpu.empty() && calibration.failure.empty() && !calibration.rows.empty() &&
                          !any(calibration, Agreement::unread);
    return all_read ? Exit::passed : Exit::cannot_measure;
}

std::vector<std::string> advice_of(const Diagnosis& diagnosis) {
    const Calibration& calibration = diagnosis.calibration;
    std::vector<std::string> sentences = faults_of(calibration);
    if (!diagnosis.no_gpu.empty()) {
        sentences.push_back(diagnosis.no_gpu);
        sentences.emplace_back(
            "What can be done on this machine: qkprof run --device emulated verifies every variant and counts its "
            "launches and its traffic, without times; profiles recorded on a GPU can be judged and compared.");
        return sentences;
    }
    for (std::string& gap : gaps_of(calibration)) {
        sentences.push_back(std::move(gap));
    }
    if (!sentences.empty() && verdict_of(diagnosis) == Exit::cannot_measure) {
        sentences.emplace_back(
            "What can be done all the same: qkprof run verifies and times every variant; what it cannot count stays "
            "unknown, with the reason.");
    }
    return sentences;
}

std::vector<Table> diagnosis_tables(const Diagnosis& diagnosis) {
    Table facts;
    facts.columns = {{"what"}, {"found"}};
    for (const auto& [heading, found] : diagnosis.sections) {
        Section section = {.heading = heading, .rows = {}, .notes = {}};
        for (const auto& [what, text] : found) {
            section.rows.push_back({{what}, {text}});
        }
        facts.sections.push_back(std::move(section));
    }
    std::vector<Table> tables = {std::move(facts)};
    const Calibration& calibration = diagnosis.calibration;
    if (!calibration.rows.empty()) {
        Table table;
        table.columns = {{"known traffic"}, {"counter"},         {"expected", true},
                         {"found", true},   {"deviation", true}, {"verdict"}};
        Section section = {.heading = calibration_heading, .rows = {}, .notes = {}};
        for (const CalibrationRow& row : calibration.rows) {
            const Agreement agreement = agreement_of(row);
            section.rows.push_back({{row.what},
                                    {row.counter},
                                    {number(row.expected)},
                                    {row.read ? number(*row.read) : "-"},
                                    {deviation_text(row)},
                                    {name_of(agreement), style_of(agreement)}});
        }
        section.notes.push_back(fmt::format("it took {:.2f} s", calibration.seconds));
        table.sections.push_back(std::move(section));
        tables.push_back(std::move(table));
    }
    tables.back().notes = advice_of(diagnosis);
    return tables;
}

Table diagnosis_rows(const Diagnosis& diagnosis) {
    Table table;
    for (const char* title :
         {"section", "what", "found", "counter", "expected", "allowed", "deviation", "verdict", "reason"}) {
        table.columns.push_back({title});
    }
    Section section;
    for (const auto& [heading, facts] : diagnosis.sections) {
        for (const auto& [what, found] : facts) {
            section.rows.push_back({{heading}, {what}, {found}, {}, {}, {}, {}, {}, {}});
        }
    }
    for (const CalibrationRow& row : diagnosis.calibration.rows) {
        section.rows.push_back({{calibration_heading},
                                {row.what},
                                {row.read ? number(*row.read) : std::string()},
                                {row.counter},
                                {number(row.expected)},
                                {number(row.allowed)},
                                {row.read ? number(*row.read - row.expected) : std::string()},
                                {name_of(agreement_of(row))},
                                {row.reason}});
    }
    table.sections.push_back(std::move(section));
    return table;
}

}  // namespace qkprof
