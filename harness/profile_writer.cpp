// Writes a profile as Google Benchmark's JSON.
#include "profile.h"

#include "error.h"
#include "noise.h"
#include "problem_json.h"
#include "roofline.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>

namespace qkprof {
namespace {

using Json = nlohmann::ordered_json;

// Not a number and infinity have no JSON: null.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

// A count is written without a decimal point.
Json counter_value(double value) {
    constexpr double exact = 0x1p53;
    if (value == std::floor(value) && std::abs(value) < exact) {
        return static_cast<std::int64_t>(value);
    }
    return number(value);
}

// The shortest text that reads back as the same float: 1e-06 and not 9.99999997e-07.
Json shortest(float value) { return std::strtod(fmt::format("{}", value).c_str(), nullptr); }

void add_counter(Json& entry, const std::string& name, const Counter& counter) {
    if (counter.value && std::isfinite(*counter.value)) {
        entry[name] = counter_value(*counter.value);
        entry[name + "_source"] = name_of(counter.source);
    } else {
        entry[name] = nullptr;
        entry[name + "_reason"] = counter.value ? "the value is not finite" : counter.reason;
    }
}

void add_verification(Json& entry, const Measurement& m) {
    const Verification& v = m.verification;
    entry["correct"] = v.correct;
    if (!v.fault.empty()) {
        entry["fault"] = v.fault;
        entry["error_norm"] = nullptr;
        entry["error_norm_reason"] = "the kernel did not finish";
        return;
    }
    entry["error_norm"] = number(v.error_norm);
    if (!std::isfinite(v.error_norm)) {
        entry["error_norm_reason"] = "the output holds values that are not finite";
    }
    entry["wrong_elements"] = v.wrong_elements;
    if (v.first_wrong) {
        const WrongElement& e = *v.first_wrong;
        entry["first_wrong"] = {{"batch", e.batch},   {"position", e.position}, {"head", e.head},
                                {"column", e.column}, {"got", number(e.got)},   {"expected", number(e.expected)}};
    }
}

void add_roofline(Json& entry, const Measurement& m, const Roofline& roofline) {
    for (const auto& [name, number] : roofline.numbers_of(m)) {
        if (name.ends_with("_floor_bytes")) {
            entry[name] = counter_value(*number.value);  // nobody counts it: it follows from the problem
        } else {
            add_counter(entry, name, number);
        }
    }
    const Bound bound = roofline.bound_of(m);
    entry["bound_by"] = bound.by.empty() ? Json(nullptr) : Json(bound.by);
    if (bound.by.empty()) {
        entry["bound_by_reason"] = bound.fraction.reason;
    }
    entry["measurement_errors"] = roofline.errors_of(m);
}

Json kernel_json(const KernelUse& kernel) {
    return {{"name", kernel.name},
            {"launches", counter_value(kernel.launches)},
            {"grid", kernel.grid},
            {"block", kernel.block},
            {"registers", kernel.registers ? Json(*kernel.registers) : Json(nullptr)},
            {"static_shared", kernel.static_shared},
            {"dynamic_shared", kernel.dynamic_shared}};
}

// All of an entry but its time, which differs between the repetitions.
Json facts_of(const Measurement& m, const CopyFractions& fractions, const Roofline& roofline) {
    const Problem& p = m.problem;
    Json entry = {{"variant", m.variant},
                  {"family", name_of(m.family)},
                  {"batch", p.batch},
                  {"sequence", p.sequence},
                  {"heads", p.heads},
                  {"head_dim", p.head_dim},
                  {"dtype", name_of(p.dtype)},
                  {"state", name_of(m.state)},
                  {"eps", shortest(p.eps)},
                  {"rotary_base", p.rotary_base},
                  {"seed", p.seed},
                  {"offset", p.offset}};
    add_form(entry, p);
    entry["parameters"] = Json::object();
    entry["non_standard"] = Json::array();
    for (const auto& [name, value] : m.parameters) {
        entry["parameters"][name] = value;
    }
    for (const auto& [name, value] : m.non_standard) {
        entry["non_standard"].push_back(name);
    }
    if (m.tuned_from) {
        entry["tuned_from"] = {{"device", m.tuned_from->device},
                               {"problem", m.tuned_from->problem},
                               {"own", m.tuned_from->own},
                               {"parameters", m.tuned_from->parameters}};
    }
    const std::string error = error_of(m);
    if (!error.empty()) {
        entry["error_occurred"] = true;
        entry["error_message"] = error;
    }
    entry["compulsory_bytes"] = p.compulsory_bytes();
    if (!m.refused.empty()) {
        entry["refused"] = m.refused;
        return entry;
    }
    if (!m.not_run.empty()) {
        entry["not_run"] = m.not_run;
        return entry;
    }
    add_verification(entry, m);
    if (m.declaration) {
        entry["declared_launches"] = m.declaration->launches;
        entry["declared_load_bytes"] = m.declaration->load_bytes;
        entry["declared_store_bytes"] = m.declaration->store_bytes;
        entry["declared_shared_bytes"] = m.declaration->shared_bytes;
    }
    for (const auto& [name, counter] : m.counters) {
        add_counter(entry, name, counter);
    }
    entry["kernels"] = Json::array();
    for (const KernelUse& kernel : m.kernels) {
        entry["kernels"].push_back(kernel_json(kernel));
    }
    const Counter fraction = fractions.of(m);
    entry["copy_fraction"] = fraction.value ? number(*fraction.value) : Json(nullptr);
    if (!fraction.value) {
        entry["copy_fraction_reason"] = fraction.reason;
    }
    entry["contradictions"] = m.contradictions;
    add_roofline(entry, m, roofline);
    return entry;
}

// The times of further runs are known of all samples, too: they stand in the first entry, in its unit.
void add_further_runs(Json& entry, const Measurement& m, const RunTimes& times) {
    for (const std::vector<double>& run : m.aa_seconds) {
        Json samples = Json::array();
        for (const double seconds : run) {
            samples.push_back(number(seconds * 1e6));
        }
        entry["aa_times"].push_back(std::move(samples));
    }
    if (!m.aa_seconds.empty()) {
        const Counter noise = times.noise(m);
        entry["aa_noise"] = noise.value ? number(*noise.value) : Json(nullptr);
        if (!noise.value) {
            entry["aa_noise_reason"] = noise.reason;
        }
    }
}

// One sample; `of_all` with those that were throttled.
Json sample_entry(const Measurement& m, std::size_t repetition, std::size_t of_all, double seconds,
                  double host_seconds) {
    return {{"name", m.name()},
            {"run_name", m.name()},
            {"run_type", "iteration"},
            {"repetitions", of_all},
            {"repetition_index", repetition},
            {"threads", 1},
            {"iterations", 1},
            {"real_time", number(seconds * 1e6)},
            {"cpu_time", number(host_seconds * 1e6)},
            {"time_unit", "us"},
            {"timer", m.timer}};
}

// The first entry of a measurement says all that is known of it, the others its further samples. Entries without a time
// are aggregates and have no unit: so Google Benchmark's compare.py leaves them out instead of computing with null.
void add_entries(Json& entries, const Measurement& m, const CopyFractions& fractions, const Roofline& roofline,
                 const RunTimes& times) {
    const std::string name = m.name();
    const Json facts = facts_of(m, fractions, roofline);
    const std::size_t samples = m.seconds.size() + m.throttled.size();
    if (samples == 0) {
        Json entry = {{"name", name},        {"run_name", name}, {"run_type", "aggregate"},
                      {"repetitions", 0},    {"threads", 1},     {"aggregate_name", "untimed"},
                      {"real_time", nullptr}};
        entry["real_time_reason"] = error_of(m).empty() ? m.no_time_reason : error_of(m);
        entry.update(facts);
        add_further_runs(entry, m, times);
        entries.push_back(std::move(entry));
        return;
    }
    auto throttled = m.throttled.begin();
    std::size_t usable = 0;
    for (std::size_t i = 0; i < samples; ++i) {
        Json entry;
        if (throttled != m.throttled.end() && (throttled->repetition == i || usable == m.seconds.size())) {
            entry = sample_entry(m, i, samples, throttled->seconds, throttled->host_seconds);
            entry["throttled"] = true;
            entry["throttle_reasons"] = throttled->reasons;
            ++throttled;
        } else {
            entry = sample_entry(m, i, samples, m.seconds[usable], m.host_seconds.at(usable));
            if (!m.stream_seconds.empty()) {
                entry["stream_time"] = number(m.stream_seconds.at(usable) * 1e6);
            }
            ++usable;
        }
        if (m.seconds.empty()) {
            entry["real_time_reason"] = m.no_time_reason;
        }
        if (i == 0) {  // once: they are the same for all, and ten times as long as a sample
            entry.update(facts);
            add_further_runs(entry, m, times);
        }
        entries.push_back(std::move(entry));
    }
}

Json calibration_of(const Calibration& calibration) {
    Json rows = Json::array();
    for (const CalibrationRow& row : calibration.rows) {
        Json entry = {{"what", row.what},
                      {"counter", row.counter},
                      {"expected", counter_value(row.expected)},
                      {"allowed", counter_value(row.allowed)},
                      {"read", row.read ? counter_value(*row.read) : Json(nullptr)},
                      {"verdict", name_of(agreement_of(row))}};
        if (!row.read) {
            entry["read_reason"] = row.reason;
        }
        rows.push_back(std::move(entry));
    }
    if (!calibration.failure.empty()) {
        return {{"failure", calibration.failure}};
    }
    return {{"date", calibration.date}, {"seconds", calibration.seconds}, {"rows", std::move(rows)}};
}

Json ceilings_of(const Roofline& roofline) {
    Json ceilings = Json::object();
    for (const auto& [name, ceiling] : {std::pair{"dram", &roofline.dram()}, std::pair{"l2", &roofline.l2()},
                                        std::pair{"dram_on_paper", &roofline.dram_on_paper()}}) {
        const std::string key = fmt::format("{}_bytes_per_second", name);
        ceilings[key] = ceiling->rate ? number(*ceiling->rate) : Json(nullptr);
        ceilings[key + (ceiling->rate ? "_from" : "_reason")] = ceiling->rate ? ceiling->source : ceiling->reason;
    }
    return ceilings;
}

Json timings_of(const std::vector<StepTime>& timings) {
    Json rows = Json::array();
    for (const StepTime& of : timings) {
        rows.push_back({{"step", name_of(of.step)}, {"seconds", number(of.seconds)}, {"times", of.times}});
    }
    return rows;
}

Json context_of(const Environment& e, const Roofline& roofline) {
    const DeviceInfo& d = e.device;
    Json facts = Json::object();
    for (const auto& [name, value] : d.facts) {
        facts[name] = value;
    }
    Json context = {{"date", e.date},
                    {"host_name", e.host_name},
                    {"executable", e.executable},
                    {"num_cpus", e.processors},
                    {"library_build_type", e.build_type},
                    {"schema_version", profile_schema},
                    {"qkprof_version", e.version},
                    {"commit", e.commit},
                    {"complete", e.complete}};
    context["device"] = {{"id", d.id},
                         {"description", d.description},
                         {"backend", d.backend == Backend::cuda ? "cuda" : "emulated"},
                         {"has_clock", d.has_clock},
                         {"l2_bytes", d.l2_bytes},
                         {"memory_bytes", d.memory_bytes},
                         {"multiprocessors", d.limits.multiprocessors},
                         {"shared_bytes_per_block", d.limits.shared_bytes_per_block},
                         {"persisting_l2_bytes", d.limits.persisting_l2_bytes},
                         {"facts", facts}};
    context["calibration"] = calibration_of(e.calibration);
    if (!e.warm_up.empty()) {
        context["warm_up"] = e.warm_up;
    }
    if (!e.timings.empty()) {
        context["timings"] = timings_of(e.timings);
    }
    context["ceilings"] = ceilings_of(roofline);
    for (const auto& [name, value] : e.further) {
        context.emplace(printable(name, std::string::npos),
                        printable(value, std::string::npos));  // never over the above
    }
    return context;
}

}  // namespace

std::string to_json(const Profile& profile) {
    const CopyFractions fractions(profile.measurements);
    const Roofline roofline(profile);
    const RunTimes times(profile, Timed::real_time);
    Json entries = Json::array();
    for (const Measurement& measurement : profile.measurements) {
        add_entries(entries, measurement, fractions, roofline, times);
    }
    // An entry a line: files of thousands stay small, and their differences readable.
    const auto text_of = [](const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); };
    std::string text = "{\"context\": " + text_of(context_of(profile.environment, roofline)) + ",\n\"benchmarks\": [";
    const char* separator = "\n";
    for (const Json& entry : entries) {
        text += separator;
        text += text_of(entry);
        separator = ",\n";
    }
    return text + "\n]}\n";
}

}  // namespace qkprof
