// Writes an exec profile as JSON, a kernel, a range or a call of a range a line: two files can be told apart by diff.
#include "exec_profile.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace qkprof::exec {
namespace {

using Json = nlohmann::ordered_json;

std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json json_of(const std::optional<Spread>& spread) {
    if (!spread) {
        return nullptr;
    }
    return {{"total", spread->total}, {"least", spread->least}, {"p10", spread->p10},  {"median", spread->median},
            {"p90", spread->p90},     {"p99", spread->p99},     {"most", spread->most}};
}

Json json_of(const LaunchForm& form) {
    return {{"device", form.device},
            {"stream", form.stream},
            {"graph", form.graph},
            {"grid", form.grid},
            {"block", form.block},
            {"registers", form.registers},
            {"static_shared", form.static_shared},
            {"dynamic_shared", form.dynamic_shared},
            {"count", form.count}};
}

Json json_of(const KernelRow& kernel) {
    Json json = {{"name", kernel.name},
                 {"count", kernel.count},
                 {"without_time", kernel.without_time},
                 {"seconds", json_of(kernel.seconds)},
                 {"forms", Json::array()},
                 {"in_other_forms", kernel.in_other_forms}};
    for (const LaunchForm& form : kernel.forms) {
        json["forms"].push_back(json_of(form));
    }
    return json;
}

Json json_of(const TransferRow& transfer) {
    return {{"kind", name_of(transfer.kind)},
            {"count", transfer.count},
            {"bytes", transfer.bytes},
            {"without_time", transfer.without_time},
            {"seconds", json_of(transfer.seconds)}};
}

// As its fields stand in the struct.
Json json_of(const RangeCall& call) {
    return Json::array({call.launches, call.transfers, call.submissions, call.busy_seconds, call.span_seconds,
                        call.host_seconds ? Json(*call.host_seconds) : Json(nullptr)});
}

Json json_of(const ProcessRow& process) {
    return {{"process", process.process},
            {"parent", process.parent},
            {"command", process.command},
            {"cupti", process.cupti},
            {"devices", process.devices},
            {"failure", process.failure},
            {"remarks", process.remarks},
            {"all_sent", process.all_sent},
            {"dropped", process.dropped},
            {"without_submission", process.without_submission},
            {"without_record", process.without_record},
            {"launches", process.launches}};
}

// The fields of an object as they stand between its braces.
std::string inner(const Json& object) {
    const std::string line = line_of(object);
    return line.substr(1, line.size() - 2);
}

// A list with an item a line, indented by so many blanks.
template <class Items>
std::string list_of(const Items& items, std::size_t indent) {
    std::string text = "[";
    for (const auto& item : items) {
        text += text.size() == 1 ? "\n" : ",\n";
        text += std::string(indent, ' ') + line_of(json_of(item));
    }
    return text + "]";
}

std::string text_of(const Work& work, std::size_t indent) {
    const Json totals = {{"launches", work.launches},
                         {"transfers", work.transfers},
                         {"submissions", work.submissions},
                         {"busy_seconds", work.busy_seconds},
                         {"span_seconds", work.span_seconds}};
    return fmt::format(R"({{{}, "kernels": {}, "copies": {}}})", inner(totals), list_of(work.kernels, indent),
                       list_of(work.copies, indent));
}

std::string text_of_row(const RangeRow& range) {
    const Json facts = {{"domain", range.domain},
                        {"name", range.name},
                        {"inside", range.inside},
                        {"calls", range.calls},
                        {"open", range.open},
                        {"least_launches", range.least_launches},
                        {"most_launches", range.most_launches},
                        {"without_record", range.without_record},
                        {"late_records", range.late_records}};
    return fmt::format("{{{},\n   \"work\": {},\n   \"first_calls\": {}}}", inner(facts), text_of(range.work, 4),
                       list_of(range.first_calls, 4));
}

}  // namespace

std::string to_json(const ExecProfile& profile) {
    const Json facts = {{"exec_schema", profile.schema},
                        {"date", profile.date},
                        {"host_name", profile.host_name},
                        {"version", profile.version},
                        {"commit", profile.commit},
                        {"command", profile.command},
                        {"exit_code", profile.exit_code ? Json(*profile.exit_code) : Json(nullptr)},
                        {"signal", profile.signal},
                        {"wall_seconds", profile.wall_seconds},
                        {"complete", profile.complete},
                        {"remarks", profile.remarks}};
    std::string text = "{\n";
    for (const auto& [key, value] : facts.items()) {
        text += fmt::format(" {}: {},\n", line_of(key), line_of(value));
    }
    text += fmt::format(" \"work\": {},\n \"processes\": {},\n \"ranges\": [", text_of(profile.work, 2),
                        list_of(profile.processes, 2));
    bool first = true;
    for (const RangeRow& range : profile.ranges) {
        text += first ? "\n  " : ",\n  ";
        text += text_of_row(range);
        first = false;
    }
    return text + "]\n}\n";
}

}  // namespace qkprof::exec
