#include "fusion.h"

#include "backend_config.h"
#include "opcodes.h"
#include "slices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

namespace qkprof::hlo {
namespace {

std::vector<std::int64_t> numbers(const nlohmann::json& list) {
    std::vector<std::int64_t> all;
    for (const nlohmann::json& item : list.is_array() ? list : nlohmann::json::array()) {
        if (const auto number = whole(item)) {
            all.push_back(*number);
        }
    }
    return all;
}

// The body, and what fusions in it hold: at most deepest_calls deep.
void add_body(const Module& module, std::size_t index, Fusion& fusion) {
    for (const Instruction& instruction : module.computations[index].instructions) {
        const Called* body = instruction.find_called("calls");
        if (opcode_of(instruction.opcode) == Opcode::fusion && body != nullptr && body->computation != nowhere) {
            add_body(module, body->computation, fusion);
        } else if (!is_free(instruction)) {
            ++fusion.operations[instruction.opcode];
        }
        fusion.sorts = fusion.sorts || instruction.opcode == "sort";
        if (instruction.opcode == "dot" && fusion.contracted_tile.empty()) {
            const nlohmann::json config = backend_config(instruction);
            fusion.contracted_tile = numbers(within(config, {"sizes"}));
        }
    }
}

void add_config(const Instruction& instruction, Fusion& fusion) {
    const nlohmann::json all = backend_config(instruction);
    for (const char* key : {"fusion_backend_config", "fusion_config"}) {
        if (within(all, {key, "kind"}).is_string()) {
            fusion.backend = within(all, {key, "kind"}).get<std::string>();
        }
    }
    if (within(all, {"kind"}).is_string()) {
        fusion.backend = within(all, {"kind"}).get<std::string>();
    }
    const nlohmann::json& inner = within(all, {"fusion_backend_config"});
    const nlohmann::json& config = inner.is_object() ? inner : all;
    const nlohmann::json& block = within(config, {"block_level_fusion_config"});
    const nlohmann::json& gemm = within(config, {"triton_gemm_config"});
    const nlohmann::json& scheduled = block.is_object() ? block : gemm;
    fusion.warps = whole(within(scheduled, {"num_warps"}));
    fusion.stages = whole(within(scheduled, {"num_stages"}));
    fusion.block_m = whole(within(gemm, {"block_m"}));
    fusion.block_n = whole(within(gemm, {"block_n"}));
    fusion.block_k = whole(within(gemm, {"block_k"}));
    const nlohmann::json& tiles = within(block, {"output_tiles"});
    for (const nlohmann::json& tile : tiles.is_array() ? tiles : nlohmann::json::array()) {
        fusion.tiles.push_back(numbers(within(tile, {"sizes"})));
    }
}

std::string tile_text(const std::vector<std::int64_t>& tile) { return fmt::format("{}", fmt::join(tile, "x")); }

}  // namespace

std::size_t Fusion::operation_count() const {
    return std::accumulate(operations.begin(), operations.end(), std::size_t{0},
                           [](std::size_t sum, const auto& item) { return sum + item.second; });
}

Fusion fusion_of(const Module& module, const Instruction& instruction) {
    Fusion fusion;
    fusion.kind = instruction.attribute("kind");
    add_config(instruction, fusion);
    const Called* body = instruction.find_called("calls");
    if (body != nullptr && body->computation != nowhere) {
        fusion.body_known = true;
        add_body(module, body->computation, fusion);
        fusion.is_copy = is_one_stretch(module.computations[body->computation]);
    }
    return fusion;
}

std::string config_text(const Fusion& fusion) {
    std::vector<std::string> parts;
    if (!fusion.backend.empty()) {
        parts.push_back(fusion.backend);
    }
    if (fusion.warps) {
        parts.push_back(fmt::format("{} warp{}", *fusion.warps, *fusion.warps == 1 ? "" : "s"));
    }
    if (fusion.stages) {
        parts.push_back(fmt::format("{} stage{}", *fusion.stages, *fusion.stages == 1 ? "" : "s"));
    }
    for (const auto& tile : fusion.tiles) {
        parts.push_back("tile " + tile_text(tile));
    }
    if (!fusion.contracted_tile.empty() && !fusion.tiles.empty()) {
        parts.push_back("contracting " + tile_text(fusion.contracted_tile));
    }
    if (fusion.block_m && fusion.block_n && fusion.block_k) {
        parts.push_back(fmt::format("block {}x{}x{}", *fusion.block_m, *fusion.block_n, *fusion.block_k));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace qkprof::hlo
