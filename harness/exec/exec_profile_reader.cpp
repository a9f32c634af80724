// Reads an exec profile, which may be anything: each field is checked as it is read.
#include "exec_profile.h"

#include "input_file.h"
#include "json_object.h"
#include "json_text.h"

#include <fmt/format.h>

namespace qkprof::exec {
namespace {

using Json = nlohmann::json;

constexpr std::uintmax_t largest_file = std::uintmax_t{1} << 29U;

std::vector<std::string> texts(const JsonObject& object, const char* key) {
    const Json& list = object.at(key);
    if (!list.is_array()) {
        throw object.error(key, "not a list of texts");
    }
    std::vector<std::string> all;
    for (const Json& item : list) {
        if (!item.is_string()) {
            throw object.error(key, "not a list of texts");
        }
        all.push_back(item.get<std::string>());
    }
    return all;
}

std::array<std::int64_t, 3> extents(const JsonObject& object, const char* key) {
    const Json& list = object.at(key);
    if (!list.is_array() || list.size() != 3) {
        throw object.error(key, "not a list of three numbers");
    }
    std::array<std::int64_t, 3> all = {};
    for (std::size_t i = 0; i < all.size(); ++i) {
        all.at(i) = object.count<std::int64_t>(key, list[i]);
    }
    return all;
}

std::optional<Spread> spread(const JsonObject& object, const char* key) {
    if (object.at(key).is_null()) {
        return {};
    }
    const JsonObject json = object.object(key);
    return Spread{.total = json.amount("total"),
                  .least = json.amount("least"),
                  .p10 = json.amount("p10"),
                  .median = json.amount("median"),
                  .p90 = json.amount("p90"),
                  .p99 = json.amount("p99"),
                  .most = json.amount("most")};
}

LaunchForm parse_form(const JsonObject& json) {
    return {.device = json.whole<std::uint32_t>("device"),
            .stream = json.whole<std::uint32_t>("stream"),
            .graph = json.flag("graph"),
            .grid = extents(json, "grid"),
            .block = extents(json, "block"),
            .registers = json.count<std::int64_t>("registers"),
            .static_shared = json.count<std::int64_t>("static_shared"),
            .dynamic_shared = json.count<std::int64_t>("dynamic_shared"),
            .count = json.whole<std::uint64_t>("count")};
}

KernelRow parse_kernel(const JsonObject& json) {
    KernelRow kernel = {.name = json.text("name"),
                        .count = json.whole<std::uint64_t>("count"),
                        .without_time = json.whole<std::uint64_t>("without_time"),
                        .seconds = spread(json, "seconds"),
                        .forms = {},
                        .in_other_forms = json.whole<std::uint64_t>("in_other_forms")};
    for (const JsonObject& form : json.objects("forms")) {
        kernel.forms.push_back(parse_form(form));
    }
    return kernel;
}

TransferRow parse_transfer(const JsonObject& json) {
    return {.kind = enumerator(json, "kind", all_transfer_kinds),
            .count = json.whole<std::uint64_t>("count"),
            .bytes = json.whole<std::uint64_t>("bytes"),
            .without_time = json.whole<std::uint64_t>("without_time"),
            .seconds = spread(json, "seconds")};
}

Work parse_work(const JsonObject& json) {
    Work work = {.launches = json.whole<std::uint64_t>("launches"),
                 .transfers = json.whole<std::uint64_t>("transfers"),
                 .submissions = json.whole<std::uint64_t>("submissions"),
                 .busy_seconds = json.amount("busy_seconds"),
                 .span_seconds = json.amount("span_seconds"),
                 .kernels = {},
                 .copies = {}};
    for (const JsonObject& kernel : json.objects("kernels")) {
        work.kernels.push_back(parse_kernel(kernel));
    }
    for (const JsonObject& copy : json.objects("copies")) {
        work.copies.push_back(parse_transfer(copy));
    }
    return work;
}

RangeCall parse_call(const JsonObject& range, const Json& json) {
    constexpr const char* key = "first_calls";
    constexpr std::size_t fields = 6;
    if (!json.is_array() || json.size() != fields) {
        throw range.error(key, "not a list of calls, each of six numbers");
    }
    const auto amount = [&](std::size_t i) {
        if (!json[i].is_number() || json[i].get<double>() < 0) {
            throw range.error(key, "a list with a call whose time is no number from 0");
        }
        return json[i].get<double>();
    };
    RangeCall call;
    call.launches = range.whole<std::uint64_t>(key, json[0]);
    call.transfers = range.whole<std::uint64_t>(key, json[1]);
    call.submissions = range.whole<std::uint64_t>(key, json[2]);
    call.busy_seconds = amount(3);
    call.span_seconds = amount(4);
    if (!json[fields - 1].is_null()) {
        call.host_seconds = amount(fields - 1);
    }
    return call;
}

RangeRow parse_range(const JsonObject& json) {
    RangeRow range;
    range.domain = json.text("domain");
    range.name = json.text("name");
    range.inside = texts(json, "inside");
    range.calls = json.count<std::uint64_t>("calls", 1);
    range.open = json.whole<std::uint64_t>("open");
    range.work = parse_work(json.object("work"));
    range.least_launches = json.whole<std::uint64_t>("least_launches");
    range.most_launches = json.whole<std::uint64_t>("most_launches");
    range.without_record = json.whole<std::uint64_t>("without_record");
    range.late_records = json.whole<std::uint64_t>("late_records");
    if (!json.at("first_calls").is_array()) {
        throw json.error("first_calls", "not a list");
    }
    for (const Json& call : json.at("first_calls")) {
        range.first_calls.push_back(parse_call(json, call));
    }
    if (range.first_calls.empty() || range.first_calls.size() > range.calls) {
        throw json.error("first_calls", "not a list of some of its calls");
    }
    return range;
}

ProcessRow parse_process(const JsonObject& json) {
    return {.process = json.whole<std::int64_t>("process"),
            .parent = json.whole<std::int64_t>("parent"),
            .command = json.text("command"),
            .cupti = json.whole<std::uint32_t>("cupti"),
            .devices = texts(json, "devices"),
            .failure = json.text("failure"),
            .remarks = texts(json, "remarks"),
            .all_sent = json.flag("all_sent"),
            .dropped = json.whole<std::uint64_t>("dropped"),
            .without_submission = json.whole<std::uint64_t>("without_submission"),
            .without_record = json.whole<std::uint64_t>("without_record"),
            .launches = json.whole<std::uint64_t>("launches")};
}

void check_schema(const JsonObject& json) {
    if (!json.has("exec_schema")) {
        throw InputError(fmt::format("{} is no exec profile, as qkprof exec --out writes it{}.", json.place(),
                                     json.has("benchmarks") ? ": it is one of qkprof run" : ""));
    }
    const int schema = json.whole<int>("exec_schema");
    if (schema > exec_schema) {
        throw InputError(fmt::format("{} is of a newer qkprof (exec schema {}; this one reads up to {}): use that one.",
                                     json.place(), schema, exec_schema));
    }
    if (schema < 1) {
        throw json.error("exec_schema", "below 1, which no qkprof writes");
    }
}

}  // namespace

ExecProfile parse_exec_profile(std::string_view json, const std::string& source) {
    if (json.find_first_not_of(" \t\r\n") == std::string_view::npos) {
        throw InputError(fmt::format("The exec profile {} is empty.", source));
    }
    const Json parsed = parse_json(json, "exec profile", source);
    const JsonObject file(parsed, source);
    check_schema(file);
    ExecProfile profile;
    profile.schema = file.whole<int>("exec_schema");
    profile.date = file.text("date");
    profile.host_name = file.text("host_name");
    profile.version = file.text("version");
    profile.commit = file.text("commit");
    profile.command = texts(file, "command");
    if (!file.at("exit_code").is_null()) {
        profile.exit_code = file.whole<int>("exit_code");
    }
    profile.signal = file.text("signal");
    profile.wall_seconds = file.amount("wall_seconds");
    profile.complete = file.flag("complete");
    profile.work = parse_work(file.object("work"));
    for (const JsonObject& process : file.objects("processes")) {
        profile.processes.push_back(parse_process(process));
    }
    for (const JsonObject& range : file.objects("ranges")) {
        profile.ranges.push_back(parse_range(range));
    }
    profile.remarks = texts(file, "remarks");
    return profile;
}

ExecProfile read_exec_profile(const std::filesystem::path& path) {
    return parse_exec_profile(read_input_file(path, "exec profile", largest_file), path.string());
}

}  // namespace qkprof::exec
