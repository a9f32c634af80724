#include "promise_json.h"

#include "promise_table.h"

namespace qkprof::hlo {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Fusion& fusion) {
    Json operations = Json::object();
    for (const auto& [name, count] : fusion.operations) {
        operations[name] = count;
    }
    return {{"kind", fusion.kind},
            {"backend", fusion.backend},
            {"tiles", fusion.tiles},
            {"contracted_tile", fusion.contracted_tile},
            {"warps", hlo::json_of(fusion.warps)},
            {"stages", hlo::json_of(fusion.stages)},
            {"block_m", hlo::json_of(fusion.block_m)},
            {"block_n", hlo::json_of(fusion.block_n)},
            {"block_k", hlo::json_of(fusion.block_k)},
            {"body_known", fusion.body_known},
            {"operations", operations}};
}

Json json_of(const Row& row, const Observation* observation) {
    const Instruction& instruction = *row.instruction;
    Json json = {{"name", instruction.name},
                 {"within", row.path},
                 {"depth", row.depth},
                 {"opcode", instruction.opcode},
                 {"shape", text_of(instruction.shape)},
                 {"class", name_of(row.verdict.kind)},
                 {"what", row.verdict.what},
                 {"executions", hlo::json_of(row.executions)},
                 {"kernels", hlo::json_of(row.kernels())},
                 {"transfers", hlo::json_of(row.transfers())},
                 {"reason", row.verdict.reason},
                 {"blocked", row.verdict.blocked},
                 {"layout_copy", row.verdict.layout_copy},
                 {"op_name", instruction.op_name},
                 {"target", instruction.text("custom_call_target")},
                 {"detail", detail_of(row)},
                 {"line", instruction.line}};
    if (row.verdict.kind != Class::nothing && row.verdict.kind != Class::control) {
        json["read_bytes"] = hlo::json_of(row.traffic.read());
        json["written_bytes"] = hlo::json_of(row.traffic.written);
    }
    if (row.verdict.fusion) {
        json["fusion"] = json_of(*row.verdict.fusion);
    }
    if (observation != nullptr) {
        json["observed"] = hlo::json_of(observation->kernels);
        json["observed_transfers"] = hlo::json_of(observation->transfers);
        json["observed_names"] = observation->names;
        json["observed_by"] = observation->names.empty() ? "" : observation->by_range ? "range" : "name";
    }
    return json;
}

Json json_of(const Observed& observed) {
    Json strays = Json::array();
    for (const Stray& stray : observed.strays) {
        strays.push_back({{"name", stray.name}, {"launches", stray.launches}});
    }
    return {{"executions", observed.executions},
            {"executions_from", observed.how},
            {"scoped", observed.scoped},
            {"kernels", observed.kernels},
            {"transfers", hlo::json_of(observed.transfers)},
            {"joined_instructions", observed.joined},
            {"unattributed", strays},
            {"unattributed_of", observed.strays_of},
            {"differences", observed.differences},
            {"broken", observed.broken},
            {"doubts", observed.doubts},
            {"only_other_modules", observed.of_others}};
}

Json json_of(const BeforeAndAfter& compared) {
    return {{"operations", compared.before},
            {"fusions", compared.fusions},
            {"fused", compared.fused},
            {"outside", compared.outside},
            {"in_fusions_of_two_or_more", compared.joined},
            {"fused_little", compared.fused_little}};
}

Json json_of(const Buffers& buffers) {
    using Kind = Allocation::Kind;
    constexpr std::size_t few = 16;
    Json largest = Json::array();
    for (const BufferValue& value : buffers.temporaries()) {
        if (largest.size() < few) {
            largest.push_back({{"instruction", value.instruction},
                               {"index", value.index},
                               {"shape", value.shape},
                               {"bytes", value.bytes}});
        }
    }
    return {{"total", buffers.total()},
            {"parameters", buffers.total(Kind::parameter)},
            {"results", buffers.total(Kind::output)},
            {"temporaries", buffers.total(Kind::temporary)},
            {"constants", buffers.total(Kind::constant)},
            {"largest_temporaries", largest}};
}

const char* name_of(Platform platform) {
    return platform == Platform::gpu ? "gpu" : platform == Platform::cpu ? "cpu" : "unknown";
}

}  // namespace

Json json_of(const Count& count) { return {{"least", count.least}, {"most", json_of(count.most)}}; }

Json json_of(const Promise& promise, const Beside& beside) {
    Json totals = Json::object();
    for (const auto& [kind, total] : promise.classes) {
        totals[key_of(kind)] = {{"instructions", total.instructions},
                                {"least", total.kernels.least},
                                {"most", json_of(total.kernels.most)},
                                {"transfers", json_of(total.transfers)}};
        if (beside.observed != nullptr) {
            const auto found = beside.observed->classes.find(kind);
            totals[key_of(kind)]["observed"] =
                found == beside.observed->classes.end() ? Json(nullptr) : json_of(found->second);
            const auto copies = beside.observed->class_transfers.find(kind);
            totals[key_of(kind)]["observed_transfers"] =
                copies == beside.observed->class_transfers.end() ? Json(nullptr) : json_of(copies->second);
        }
    }
    Json rows = Json::array();
    for (std::size_t i = 0; i < promise.rows.size(); ++i) {
        rows.push_back(json_of(promise.rows[i], beside.observed != nullptr ? &beside.observed->rows[i] : nullptr));
    }
    Json intermediates = Json::array();
    for (const Intermediate& value : promise.intermediates) {
        intermediates.push_back({{"name", value.row->instruction->name},
                                 {"within", value.row->path},
                                 {"bytes", value.bytes},
                                 {"executions", json_of(value.row->executions)}});
    }
    const Module& module = *promise.module;
    Json json = {{"schema_version", promise_schema},
                 {"module", module.name},
                 {"excerpt", module.is_excerpt},
                 {"platform", name_of(promise.platform)},
                 {"scheduled", module.attributes.contains("is_scheduled")},
                 {"partitions", module.partitions()},
                 {"replicas", module.replicas()},
                 {"kernels", json_of(promise.kernels)},
                 {"transfers", json_of(promise.transfers)},
                 {"totals", totals},
                 {"bytes",
                  {{"moved", json_of(promise.bytes)},
                   {"complete", promise.bytes_complete},
                   {"ideal", json_of(promise.ideal_bytes)},
                   {"intermediates", intermediates}}},
                 {"instructions", rows}};
    if (beside.observed != nullptr) {
        json["observed"] = json_of(*beside.observed);
    }
    if (beside.before != nullptr) {
        json["before"] = json_of(*beside.before);
    }
    if (beside.buffers != nullptr) {
        json["buffers"] = json_of(*beside.buffers);
    }
    if (beside.commands != nullptr) {
        json["command_buffers"] = {{"submissions", beside.commands->buffers}, {"commands", beside.commands->commands}};
    }
    return json;
}

std::string json_text(const Promise& promise, const Beside& beside) {
    return json_of(promise, beside).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace qkprof::hlo
