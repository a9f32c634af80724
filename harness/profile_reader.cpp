// Reads a profile back. What it reads may be damaged, foreign or made up: every field is checked, and what is wrong is
// said with its place.
#include "error.h"
#include "input_file.h"
#include "json_object.h"
#include "json_text.h"
#include "problem_json.h"
#include "profile.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace qkprof {
namespace {

using Json = nlohmann::json;
using Object = JsonObject;

Verification read_verification(const Object& entry) {
    Verification v;
    v.correct = entry.flag("correct");
    v.fault = entry.text_or_empty("fault");
    if (!v.fault.empty()) {
        return v;
    }
    v.error_norm = entry.at("error_norm").is_null() ? entry.number_or_nan("error_norm") : entry.amount("error_norm");
    v.wrong_elements = entry.count<std::int64_t>("wrong_elements");
    if (entry.has("first_wrong")) {
        const Object e = entry.object("first_wrong");
        v.first_wrong = WrongElement{.batch = e.count<std::int64_t>("batch"),
                                     .position = e.count<std::int64_t>("position"),
                                     .head = e.count<std::int64_t>("head"),
                                     .column = e.count<std::int64_t>("column"),
                                     .got = e.number_or_nan("got"),
                                     .expected = e.number_or_nan("expected")};
    }
    return v;
}

bool is_derived(std::string_view name) {
    const auto& all = metrics();
    return std::any_of(all.begin(), all.end(),
                       [&](const Metric& metric) { return metric.derived && metric.name == name; });
}

// Those of the program's metrics that are no averages: neither over the calls that were counted, as launches are, nor
// over time.
bool is_whole(std::string_view name) {
    static const std::set<std::string_view> averages = {"launches",          "submissions",     "graph_launches",
                                                        "graph_submissions", "transfers",       "achieved_occupancy",
                                                        "sm_clock_mhz",      "memory_clock_mhz"};
    return is_own_metric(name) && !averages.contains(name);
}

// A counter is what has a source or, where it is unknown, a reason, and does not follow from the others.
Counters read_counters(const Object& entry) {
    Counters counters;
    for (const auto& [key, value] : entry.json().items()) {
        const bool source = key.ends_with("_source");
        if (!source && !key.ends_with("_reason")) {
            continue;
        }
        const std::string name = key.substr(0, key.size() - std::string_view("_source").size());
        if (name == "real_time" || is_derived(name)) {
            continue;
        }
        Counter counter;
        if (source) {
            const double number = is_own_metric(name) ? entry.amount(name.c_str()) : entry.number(name.c_str());
            counter.value = number;
            counter.source =
                enumerator(entry, key.c_str(), std::array{Source::counted, Source::emulated, Source::modelled});
            if (counter.source != Source::modelled && is_whole(name) && number != std::floor(number)) {
                throw entry.error(name.c_str(), "not a whole number");
            }
        } else {
            counter.reason = entry.text(key.c_str());
        }
        counters[name] = counter;
    }
    return counters;
}

std::vector<std::string> read_sentences(const Object& entry, const char* key) {
    std::vector<std::string> sentences;
    const Json& list = entry.at(key);
    if (!list.is_array()) {
        throw entry.error(key, "not a list of sentences");
    }
    for (const Json& sentence : list) {
        if (!sentence.is_string()) {
            throw entry.error(key, "not a list of sentences");
        }
        sentences.push_back(sentence.get<std::string>());
    }
    return sentences;
}

KernelUse read_kernel(const Object& kernel) {
    const auto extents = [&](const char* key) {
        std::array<std::int64_t, 3> three = {};
        if (!kernel.at(key).is_array() || kernel.at(key).size() != three.size()) {
            throw kernel.error(key, "not a list of three numbers");
        }
        for (std::size_t i = 0; i < three.size(); ++i) {
            three.at(i) = kernel.count<std::int64_t>(key, kernel.at(key).at(i), 1);
        }
        return three;
    };
    KernelUse use;
    use.name = kernel.text("name");
    use.launches = kernel.amount("launches");
    use.grid = extents("grid");
    use.block = extents("block");
    if (!kernel.at("registers").is_null()) {
        use.registers = kernel.count<int>("registers");
    }
    use.static_shared = kernel.count<std::int64_t>("static_shared");
    use.dynamic_shared = kernel.count<std::int64_t>("dynamic_shared");
    return use;
}

// Of the times of an entry.
double units_per_second(const Object& entry) {
    const std::string unit = entry.text("time_unit");
    const double second = unit == "ns" ? 1e9 : unit == "us" ? 1e6 : unit == "ms" ? 1e3 : unit == "s" ? 1 : 0;
    if (second == 0) {
        throw entry.error("time_unit", "none of ns, us, ms and s");
    }
    return second;
}

// What no clock shows and no one waits for is damage, and is lost when it is written in another unit.
constexpr double shortest_time = 1e-12;  // seconds
constexpr double longest_time = 1e9;

bool is_time_of_a_call(double seconds) { return seconds >= shortest_time && seconds <= longest_time; }

void read_time(const Object& entry, Measurement& m) {
    if (entry.at("real_time").is_null()) {
        return;
    }
    const double second = units_per_second(entry);
    const auto time = [&](const char* key) {
        if (!(entry.number(key) > 0)) {
            throw entry.error(key, "not above 0");
        }
        if (!is_time_of_a_call(entry.number(key) / second)) {
            throw entry.error(key, "no time between 1e-12 and 1e9 seconds");
        }
        return entry.number(key) / second;
    };
    const double seconds = time("real_time");
    const double host_seconds = entry.amount("cpu_time") / second;
    if (host_seconds > longest_time) {
        throw entry.error("cpu_time", "above 1e9 seconds");
    }
    if (entry.has("throttled") && entry.flag("throttled")) {
        m.throttled.push_back({entry.whole<std::size_t>("repetition_index"), seconds, host_seconds,
                               read_sentences(entry, "throttle_reasons")});
    } else {
        m.seconds.push_back(seconds);
        m.host_seconds.push_back(host_seconds);
        if (entry.has("stream_time")) {
            m.stream_seconds.push_back(time("stream_time"));
        }
        if (!m.stream_seconds.empty() && m.stream_seconds.size() != m.seconds.size()) {
            throw entry.error("stream_time", "not in every sample of its measurement");
        }
    }
}

// Those of further runs, a list each; microseconds where the entry itself has no time and so no unit.
std::vector<std::vector<double>> read_aa_times(const Object& entry) {
    constexpr const char* key = "aa_times";
    std::vector<std::vector<double>> runs;
    if (!entry.has(key)) {
        return runs;
    }
    if (!entry.at(key).is_array()) {
        throw entry.error(key, "not a list of lists of times");
    }
    const double second = entry.has("time_unit") ? units_per_second(entry) : 1e6;
    for (const Json& run : entry.at(key)) {
        if (!run.is_array()) {
            throw entry.error(key, "not a list of lists of times");
        }
        std::vector<double>& seconds = runs.emplace_back();
        for (const Json& time : run) {
            seconds.push_back(time.is_number() ? time.get<double>() / second : 0);
            if (!is_time_of_a_call(seconds.back())) {
                throw entry.error(key, fmt::format("a list whose [{}][{}] is no time between 1e-12 and 1e9 seconds",
                                                   runs.size() - 1, seconds.size() - 1)
                                           .c_str());
            }
        }
    }
    return runs;
}

TunedFrom read_tuned_from(const Object& entry, const Measurement& m) {
    TunedFrom from = {.device = entry.text("device"),
                      .problem = entry.text("problem"),
                      .own = entry.flag("own"),
                      .parameters = read_sentences(entry, "parameters")};
    for (const std::string& name : from.parameters) {
        if (!m.parameters.contains(name) || m.non_standard.contains(name)) {
            throw entry.error("parameters", "not a list of parameters that are not among the non_standard");
        }
    }
    return from;
}

Measurement read_measurement(const Object& entry) {
    Measurement m;
    m.variant = entry.text("variant");
    m.family = enumerator(entry, "family",
                          std::array{Family::ceiling, Family::naive, Family::split, Family::register_only,
                                     Family::shared_memory, Family::cache_aware, Family::framework});
    m.problem = read_problem(entry);
    m.state = enumerator(entry, "state", std::array{CacheState::cold, CacheState::warm});
    const Object parameters = entry.object("parameters");
    for (const auto& [name, value] : parameters.json().items()) {
        m.parameters[name] = parameters.whole<int>(name.c_str(), value);
    }
    if (!entry.at("non_standard").is_array()) {
        throw entry.error("non_standard", "not a list of names of parameters");
    }
    for (const Json& name : entry.at("non_standard")) {
        const auto found = name.is_string() ? m.parameters.find(name.get<std::string>()) : m.parameters.end();
        if (found == m.parameters.end()) {
            throw entry.error("non_standard", "not a list of names of parameters");
        }
        m.non_standard.insert(*found);
    }
    if (entry.has("tuned_from")) {
        m.tuned_from = read_tuned_from(entry.object("tuned_from"), m);
    }
    m.refused = entry.text_or_empty("refused");
    m.no_time_reason = entry.text_or_empty("real_time_reason");
    m.not_run = entry.text_or_empty("not_run");
    if (!m.ran()) {
        return m;
    }
    m.verification = read_verification(entry);
    if (entry.has("declared_launches")) {  // a framework declares nothing
        m.declaration = {.launches = entry.count<std::int64_t>("declared_launches"),
                         .load_bytes = entry.count<std::int64_t>("declared_load_bytes"),
                         .store_bytes = entry.count<std::int64_t>("declared_store_bytes"),
                         .shared_bytes = entry.count<std::int64_t>("declared_shared_bytes")};
    }
    m.counters = read_counters(entry);
    if (entry.has("kernels")) {  // profiles of earlier versions have none
        for (const Object& kernel : entry.objects("kernels")) {
            m.kernels.push_back(read_kernel(kernel));
        }
    }
    m.contradictions = read_sentences(entry, "contradictions");
    m.timer = entry.text_or_empty("timer");
    m.aa_seconds = read_aa_times(entry);
    return m;
}

// The verdicts follow from the numbers and are not read.
Calibration read_calibration(const Object& context) {
    Calibration calibration;
    if (!context.has("calibration")) {
        calibration.failure = "The profile was recorded by a qkprof that did not calibrate.";
        return calibration;
    }
    const Object whole = context.object("calibration");
    calibration.failure = whole.text_or_empty("failure");
    if (!calibration.failure.empty()) {
        return calibration;
    }
    calibration.date = whole.text("date");
    calibration.seconds = whole.amount("seconds");
    for (const Object& entry : whole.objects("rows")) {
        CalibrationRow row = {.what = entry.text("what"),
                              .counter = entry.text("counter"),
                              .expected = entry.number("expected"),
                              .allowed = entry.number("allowed"),
                              .read = {},
                              .reason = entry.text_or_empty("read_reason")};
        if (!entry.at("read").is_null()) {
            row.read = entry.number("read");
        }
        calibration.rows.push_back(std::move(row));
    }
    return calibration;
}

Environment read_environment(const Object& context) {
    Environment e;
    e.date = context.text("date");
    e.host_name = context.text("host_name");
    e.executable = context.text("executable");
    e.processors = context.count<int>("num_cpus");
    e.build_type = context.text("library_build_type");
    e.version = context.text("qkprof_version");
    e.commit = context.text("commit");
    e.complete = context.flag("complete");
    e.calibration = read_calibration(context);
    e.warm_up = context.text_or_empty("warm_up");
    if (context.has("timings")) {
        for (const Object& entry : context.objects("timings")) {
            e.timings.push_back(
                {enumerator(entry, "step", all_steps), entry.amount("seconds"), entry.count<std::int64_t>("times")});
        }
    }
    static const std::set<std::string, std::less<>> known = {
        "date", "host_name", "executable", "library_build_type", "qkprof_version", "commit", "warm_up"};
    for (const auto& [name, value] : context.json().items()) {
        if (value.is_string() && !known.contains(name)) {
            e.further.emplace_back(name, value.get<std::string>());
        }
    }
    const Object device = context.object("device");
    DeviceInfo& d = e.device;
    d.id = device.text("id");
    d.description = device.text("description");
    const std::string backend = device.text("backend");
    if (backend != "cuda" && backend != "emulated") {
        throw device.error("backend", "neither cuda nor emulated");
    }
    d.backend = backend == "cuda" ? Backend::cuda : Backend::emulated;
    d.has_clock = device.flag("has_clock");
    d.l2_bytes = device.count<std::int64_t>("l2_bytes", d.backend == Backend::cuda ? 1 : 0);
    d.memory_bytes = device.count<std::int64_t>("memory_bytes");
    d.limits = {.multiprocessors = device.count<int>("multiprocessors"),
                .shared_bytes_per_block = device.count<std::int64_t>("shared_bytes_per_block"),
                .persisting_l2_bytes = device.count<std::int64_t>("persisting_l2_bytes")};
    for (const auto& [name, value] : device.object("facts").json().items()) {
        d.facts.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
    }
    return e;
}

// An entry of a measurement says what differs between its samples, and may say again what its first entry says of all
// of them, as those of earlier versions do.
void check_repeated(const Object& entry, const Json& first) {
    static const std::set<std::string, std::less<>> of_a_sample = {
        "run_type", "repetitions", "repetition_index", "iterations", "aggregate_name",   "real_time",
        "cpu_time", "time_unit",   "stream_time",      "throttled",  "throttle_reasons", "real_time_reason"};
    for (const auto& [key, value] : entry.json().items()) {
        if (of_a_sample.contains(key)) {
            continue;
        }
        const auto known = first.find(key);
        if (known == first.end() || *known != value) {
            throw entry.error(key.c_str(), "not what the first entry of this name says");
        }
    }
}

// The entries of one name.
class Entries {
  public:
    explicit Entries(const Json& first) : first_(first) {}

    void add(const Object& entry) {
        if (&entry.json() != &first_) {
            check_repeated(entry, first_);
            if (entry.at("real_time").is_null() || first_.at("real_time").is_null()) {
                throw entry.error("name", "that of an entry before it: without times there is one entry of each");
            }
        }
        if (entry.at("real_time").is_null()) {
            return;
        }
        const auto repetition = entry.whole<std::int64_t>("repetition_index");
        if (repetition <= last_) {
            throw entry.error("repetition_index", "negative, or not above that of the entry of this name before it");
        }
        last_ = repetition;
    }

  private:
    const Json& first_;
    std::int64_t last_ = -1;
};

// Profiles of earlier versions do not name the offset.
bool is_name_of(const std::string& name, Measurement m) {
    const bool now = m.name() == name;
    m.problem.offset = 0;
    return now || m.name() == name;
}

}  // namespace

Profile parse_profile(std::string_view json, const std::string& source) {
    if (json.find_first_not_of(" \t\r\n") == std::string_view::npos) {
        throw InputError(fmt::format("The profile {} is empty.", source));
    }
    const Json root = parse_json(json, "profile", source);
    const Object file(root, source);
    if (!file.has("context") || !root["context"].is_object() || !root["context"].contains("schema_version")) {
        throw InputError(fmt::format("{} is not a profile of qkprof: its context has no schema_version.", source));
    }
    const Object context = file.object("context");
    const auto schema = context.whole<std::int64_t>("schema_version");
    if (schema > profile_schema) {
        throw InputError(
            fmt::format("The profile {} was written by a newer qkprof (schema {}; this one reads up to {}): "
                        "use that one to read it.",
                        source, schema, profile_schema));
    }
    if (schema < 1) {
        throw context.error("schema_version", "below 1, which no qkprof writes");
    }
    Profile profile;
    profile.environment = read_environment(context);
    profile.environment.schema = static_cast<int>(schema);
    if (!file.at("benchmarks").is_array()) {
        throw file.error("benchmarks", "not a list");
    }
    struct Known {
        std::size_t index;  // of its measurement
        Entries entries;
    };
    std::map<std::string, Known> known_names;
    std::set<std::string> names;  // as this version makes them
    std::size_t number = 0;
    constexpr std::size_t longest_name = 300;  // to be quoted; longer than any
    for (const Json& item : file.at("benchmarks")) {
        const std::string place = fmt::format("{}, benchmarks[{}]", source, number++);
        const std::string name = Object(item, place).text("name");
        const Object entry(item, fmt::format("{} ({})", place, printable(name, longest_name)));
        const auto [known, added] = known_names.try_emplace(name, Known{profile.measurements.size(), Entries(item)});
        if (added) {
            profile.measurements.push_back(read_measurement(entry));
            if (!is_name_of(name, profile.measurements.back())) {
                throw entry.error("name", "not what its variant, problem, state and parameters make it");
            }
            if (!names.insert(profile.measurements.back().name()).second) {
                throw entry.error("name", "another word for a measurement that stands before it");
            }
        }
        known->second.entries.add(entry);
        read_time(entry, profile.measurements[known->second.index]);
    }
    return profile;
}

Profile read_profile(const std::filesystem::path& path) {
    constexpr std::uintmax_t largest = std::uintmax_t{64} << 20U;
    return parse_profile(read_input_file(path, "profile", largest), path.string());
}

}  // namespace qkprof
