// Reads a profile back. What it reads may be damaged, foreign or made up: every field is checked, and what is wrong is
// said with its place.
#include "error.h"
#include "profile.h"
#include "shapes.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <set>

namespace qkprof {
namespace {

using Json = nlohmann::json;

constexpr std::uintmax_t largest_file = std::uintmax_t{1} << 30U;

// An object of the file, with the words that say where it stands.
class Object {
  public:
    Object(const Json& json, std::string place) : json_(json), place_(std::move(place)) {
        if (!json.is_object()) {
            throw InputError(place_ + " is not a JSON object.");
        }
    }

    const Json& json() const { return json_; }
    const std::string& place() const { return place_; }
    bool has(const char* key) const { return json_.contains(key); }
    InputError error(const char* key, const char* what) const {
        return InputError(fmt::format("{}: '{}' is {}.", place_, key, what));
    }

    const Json& at(const char* key) const {
        const auto found = json_.find(key);
        if (found == json_.end()) {
            throw error(key, "missing");
        }
        return *found;
    }
    std::string text(const char* key) const {
        if (!at(key).is_string()) {
            throw error(key, "not text");
        }
        return at(key).get<std::string>();
    }
    std::string text_or_empty(const char* key) const { return has(key) ? text(key) : std::string(); }
    bool flag(const char* key) const {
        if (!at(key).is_boolean()) {
            throw error(key, "neither true nor false");
        }
        return at(key).get<bool>();
    }
    double number(const char* key) const {
        if (!at(key).is_number()) {
            throw error(key, "not a number");
        }
        return at(key).get<double>();
    }
    // null stands for a value that is not finite.
    double number_or_nan(const char* key) const {
        return at(key).is_null() ? std::numeric_limits<double>::quiet_NaN() : number(key);
    }
    template <class T>
    T whole(const char* key) const {
        return whole<T>(key, at(key));
    }
    template <class T>
    T whole(const char* key, const Json& value) const {
        const bool in_range = value.is_number_unsigned() ? value.get<std::uint64_t>() <=
                                                               static_cast<std::uint64_t>(std::numeric_limits<T>::max())
                              : value.is_number_integer() ? std::in_range<T>(value.get<std::int64_t>())
                                                          : false;
        if (!in_range) {
            throw error(key, "not a whole number in its range");
        }
        return value.get<T>();
    }
    Object object(const char* key) const { return {at(key), fmt::format("{}, '{}'", place_, key)}; }
    std::vector<Object> objects(const char* key) const {
        if (!at(key).is_array()) {
            throw error(key, "not a list");
        }
        std::vector<Object> all;
        for (const Json& item : at(key)) {
            all.emplace_back(item, fmt::format("{}, '{}'[{}]", place_, key, all.size()));
        }
        return all;
    }

  private:
    const Json& json_;
    std::string place_;
};

// The enumerator among `all` whose name_of is the text under `key`.
template <class E, std::size_t N>
E enumerator(const Object& object, const char* key, const std::array<E, N>& all) {
    const std::string text = object.text(key);
    for (const E value : all) {
        if (text == name_of(value)) {
            return value;
        }
    }
    throw object.error(key, "a word that this qkprof does not know");
}

constexpr std::array all_dtypes = {DataType::f32, DataType::bf16, DataType::f16};

// A whole number that counts something.
std::int64_t count(const Object& object, const char* key) {
    const auto value = object.whole<std::int64_t>(key);
    if (value < 0) {
        throw object.error(key, "negative");
    }
    return value;
}

Positions read_positions(const Object& entry) {
    const Object object = entry.object("positions");
    Positions positions;
    positions.type = enumerator(object, "type", std::array{PositionType::int32, PositionType::int64});
    positions.order = enumerator(object, "order",
                                 std::array{PositionOrder::ordered, PositionOrder::reversed, PositionOrder::scattered,
                                            PositionOrder::repeated, PositionOrder::listed});
    if (positions.order == PositionOrder::listed) {
        positions.distinct = count(object, "distinct");
        positions.digest = object.whole<std::uint32_t>("digest");
    }
    return positions;
}

// What is absent is as in the first form.
void read_form(const Object& entry, Problem& problem) {
    const auto read_count = [&](const char* key, std::int64_t& value) {
        value = entry.has(key) ? count(entry, key) : value;
    };
    const auto read_flag = [&](const char* key, bool& value) { value = entry.has(key) ? entry.flag(key) : value; };
    const auto read_word = [&](const char* key, auto& value, const auto& all) {
        value = entry.has(key) ? enumerator(entry, key, all) : value;
    };
    read_count("key_heads", problem.key_heads);
    read_word("layout", problem.layout, std::array{Layout::separate, Layout::packed});
    read_count("row_padding", problem.row_padding);
    read_flag("in_place", problem.in_place);
    read_word("pairing", problem.pairing, std::array{Pairing::half_split, Pairing::interleaved});
    read_count("rotary_dim", problem.rotary_dim);
    if (entry.has("positions")) {
        problem.positions = read_positions(entry);
    }
    read_count("context", problem.context);
    read_word("table_dtype", problem.table_dtype, all_dtypes);
    read_word("gamma_dtype", problem.gamma_dtype, all_dtypes);
    read_flag("gemma", problem.gemma);
    read_word("values", problem.values,
              std::array{Values::normal, Values::zeros, Values::largest, Values::smallest, Values::not_finite});
}

Problem read_problem(const Object& entry) {
    Problem problem;
    problem.batch = count(entry, "batch");
    problem.sequence = count(entry, "sequence");
    problem.heads = count(entry, "heads");
    problem.head_dim = count(entry, "head_dim");
    problem.dtype = enumerator(entry, "dtype", all_dtypes);
    problem.eps = static_cast<float>(entry.number("eps"));
    problem.rotary_base = entry.number("rotary_base");
    problem.seed = entry.whole<std::uint64_t>("seed");
    problem.offset = count(entry, "offset");
    read_form(entry, problem);
    if (!extents_fault(problem).empty()) {  // its products must not overflow
        throw entry.error("batch", "one of the extents of what is no problem of qkprof");
    }
    const Positions& positions = problem.positions;
    if (positions.order == PositionOrder::listed &&
        positions.distinct > std::min(problem.tokens(), problem.table_positions())) {
        throw entry.error("positions", "of more distinct positions than there are");
    }
    if (const std::string fault = problem.fault(); !fault.empty()) {
        throw InputError(fmt::format("{} is no problem of qkprof: {}.", entry.place(), fault));
    }
    return problem;
}

Verification read_verification(const Object& entry) {
    Verification v;
    v.correct = entry.flag("correct");
    v.fault = entry.text_or_empty("fault");
    if (!v.fault.empty()) {
        return v;
    }
    v.error_norm = entry.number_or_nan("error_norm");
    v.wrong_elements = entry.whole<std::int64_t>("wrong_elements");
    if (entry.has("first_wrong")) {
        const Object e = entry.object("first_wrong");
        v.first_wrong = WrongElement{.batch = e.whole<std::int64_t>("batch"),
                                     .position = e.whole<std::int64_t>("position"),
                                     .head = e.whole<std::int64_t>("head"),
                                     .column = e.whole<std::int64_t>("column"),
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
            counter.value = entry.number(name.c_str());
            counter.source =
                enumerator(entry, key.c_str(), std::array{Source::counted, Source::emulated, Source::modelled});
        } else {
            counter.reason = entry.text(key.c_str());
        }
        counters[name] = counter;
    }
    return counters;
}

std::vector<std::string> read_sentences(const Object& entry, const char* key) {
    std::vector<std::string> sentences;
    for (const Json& sentence : entry.at(key)) {
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
            three.at(i) = kernel.whole<std::int64_t>(key, kernel.at(key).at(i));
        }
        return three;
    };
    KernelUse use;
    use.name = kernel.text("name");
    use.launches = kernel.number("launches");
    use.grid = extents("grid");
    use.block = extents("block");
    if (!kernel.at("registers").is_null()) {
        use.registers = kernel.whole<int>("registers");
    }
    use.static_shared = kernel.whole<std::int64_t>("static_shared");
    use.dynamic_shared = kernel.whole<std::int64_t>("dynamic_shared");
    return use;
}

Measurement read_measurement(const Object& entry) {
    Measurement m;
    m.variant = entry.text("variant");
    m.family = enumerator(entry, "family",
                          std::array{Family::ceiling, Family::naive, Family::split, Family::register_only,
                                     Family::shared_memory, Family::cache_aware});
    m.problem = read_problem(entry);
    m.state = enumerator(entry, "state", std::array{CacheState::cold, CacheState::warm});
    const Object parameters = entry.object("parameters");
    for (const auto& [name, value] : parameters.json().items()) {
        m.parameters[name] = parameters.whole<int>(name.c_str(), value);
    }
    for (const Json& name : entry.at("non_standard")) {
        const auto found = name.is_string() ? m.parameters.find(name.get<std::string>()) : m.parameters.end();
        if (found == m.parameters.end()) {
            throw entry.error("non_standard", "not a list of names of parameters");
        }
        m.non_standard.insert(*found);
    }
    m.refused = entry.text_or_empty("refused");
    m.no_time_reason = entry.text_or_empty("real_time_reason");
    m.not_run = entry.text_or_empty("not_run");
    if (!m.ran()) {
        return m;
    }
    m.verification = read_verification(entry);
    m.declaration = {.launches = entry.whole<std::int64_t>("declared_launches"),
                     .load_bytes = entry.whole<std::int64_t>("declared_load_bytes"),
                     .store_bytes = entry.whole<std::int64_t>("declared_store_bytes"),
                     .shared_bytes = entry.whole<std::int64_t>("declared_shared_bytes")};
    m.counters = read_counters(entry);
    if (entry.has("kernels")) {  // profiles of earlier versions have none
        for (const Object& kernel : entry.objects("kernels")) {
            m.kernels.push_back(read_kernel(kernel));
        }
    }
    m.contradictions = read_sentences(entry, "contradictions");
    m.timer = entry.text_or_empty("timer");
    return m;
}

void read_time(const Object& entry, Measurement& m) {
    if (entry.at("real_time").is_null()) {
        return;
    }
    const std::string unit = entry.text("time_unit");
    const double second = unit == "ns" ? 1e9 : unit == "us" ? 1e6 : unit == "ms" ? 1e3 : unit == "s" ? 1 : 0;
    if (second == 0) {
        throw entry.error("time_unit", "none of ns, us, ms and s");
    }
    if (!(entry.number("real_time") > 0)) {
        throw entry.error("real_time", "not above 0");
    }
    const double seconds = entry.number("real_time") / second;
    const double host_seconds = entry.number("cpu_time") / second;
    if (entry.has("throttled") && entry.flag("throttled")) {
        m.throttled.push_back({entry.whole<std::size_t>("repetition_index"), seconds, host_seconds,
                               read_sentences(entry, "throttle_reasons")});
    } else {
        m.seconds.push_back(seconds);
        m.host_seconds.push_back(host_seconds);
    }
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
    calibration.seconds = whole.number("seconds");
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
    e.processors = context.whole<int>("num_cpus");
    e.build_type = context.text("library_build_type");
    e.version = context.text("qkprof_version");
    e.commit = context.text("commit");
    e.complete = context.flag("complete");
    e.calibration = read_calibration(context);
    e.warm_up = context.text_or_empty("warm_up");
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
    d.backend = device.text("backend") == "cuda" ? Backend::cuda : Backend::emulated;
    d.has_clock = device.flag("has_clock");
    d.l2_bytes = device.whole<std::int64_t>("l2_bytes");
    d.memory_bytes = device.whole<std::int64_t>("memory_bytes");
    d.limits = {.multiprocessors = device.whole<int>("multiprocessors"),
                .shared_bytes_per_block = device.whole<std::int64_t>("shared_bytes_per_block"),
                .persisting_l2_bytes = device.whole<std::int64_t>("persisting_l2_bytes")};
    for (const auto& [name, value] : device.object("facts").json().items()) {
        d.facts.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
    }
    return e;
}

// Without nlohmann's "[json.exception.parse_error.101] ".
std::string plain(const Json::exception& error) {
    const std::string text = error.what();
    const std::size_t end = text.find("] ");
    return end == std::string::npos ? text : text.substr(end + 2);
}

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
    Json root;
    try {
        root = Json::parse(json);
    } catch (const Json::exception& error) {
        throw InputError(fmt::format("The profile {} is not JSON: {}.", source, plain(error)));
    }
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
    Profile profile;
    profile.environment = read_environment(context);
    if (!file.at("benchmarks").is_array()) {
        throw file.error("benchmarks", "not a list");
    }
    std::map<std::string, std::size_t> index_of;
    std::size_t number = 0;
    for (const Json& item : file.at("benchmarks")) {
        const std::string place = fmt::format("{}, benchmarks[{}]", source, number++);
        const std::string name = Object(item, place).text("name");
        const Object entry(item, fmt::format("{} ({})", place, name));
        const auto [known, added] = index_of.try_emplace(name, profile.measurements.size());
        if (added) {
            profile.measurements.push_back(read_measurement(entry));
            if (!is_name_of(name, profile.measurements.back())) {
                throw entry.error("name", "not what its variant, problem, state and parameters make it");
            }
        }
        read_time(entry, profile.measurements[known->second]);
    }
    return profile;
}

Profile read_profile(const std::filesystem::path& path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status)) {
        throw InputError(fmt::format("There is no profile {}.", path.string()));
    }
    if (!std::filesystem::is_regular_file(status)) {
        throw InputError(fmt::format("{} is not a file that could hold a profile.", path.string()));
    }
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (!error && size > largest_file) {
        throw InputError(fmt::format("{} has {} bytes and a profile at most {}: it is not read.", path.string(), size,
                                     largest_file));
    }
    std::ifstream stream(path, std::ios::binary);
    std::string text(error ? 0 : size, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!stream) {
        throw InputError(fmt::format("The profile {} cannot be read.", path.string()));
    }
    return parse_profile(text, path.string());
}

}  // namespace qkprof
