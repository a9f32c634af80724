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

Json json_of(const Row& row) {
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
    return json;
}

const char* name_of(Platform platform) {
    return platform == Platform::gpu ? "gpu" : platform == Platform::cpu ? "cpu" : "unknown";
}

}  // namespace

Json json_of(const Count& count) { return {{"least", count.least}, {"most", json_of(count.most)}}; }

Json json_of(const Promise& promise) {
    Json totals = Json::object();
    for (const auto& [kind, total] : promise.classes) {
        totals[key_of(kind)] = {{"instructions", total.instructions},
                                {"least", total.kernels.least},
                                {"most", json_of(total.kernels.most)},
                                {"transfers", json_of(total.transfers)}};
    }
    Json rows = Json::array();
    for (const Row& row : promise.rows) {
        rows.push_back(json_of(row));
    }
    Json intermediates = Json::array();
    for (const Intermediate& value : promise.intermediates) {
        intermediates.push_back({{"name", value.row->instruction->name},
                                 {"within", value.row->path},
                                 {"bytes", value.bytes},
                                 {"executions", json_of(value.row->executions)}});
    }
    const Module& module = *promise.module;
    return {{"schema_version", promise_schema},
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
}

}  // namespace qkprof::hlo
