// What an instruction `fusion` says of itself: how it is compiled, and what it holds.
#pragma once

#include "module.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace qkprof::hlo {

struct Fusion {
    std::string kind;                              // kLoop, kInput, kOutput, kCustom
    std::string backend;                           // "__triton" ...; empty: XLA's own emitter, or not said
    std::vector<std::vector<std::int64_t>> tiles;  // of each result
    std::vector<std::int64_t> contracted_tile;     // of the contracted dimensions of a matrix product
    std::optional<std::int64_t> warps;
    std::optional<std::int64_t> stages;
    std::optional<std::int64_t> block_m;  // of a matrix product as older XLA writes it
    std::optional<std::int64_t> block_n;
    std::optional<std::int64_t> block_k;
    bool body_known = false;                        // the text holds what it computes
    std::map<std::string, std::size_t> operations;  // by name, without those that are names alone and constants
    bool is_copy = false;                           // its whole body is a copy of one stretch of memory
    bool sorts = false;

    std::size_t operation_count() const;
};

Fusion fusion_of(const Module& module, const Instruction& instruction);

// How it is compiled, as "__triton, 8 warps, tile 8x1x16x64".
std::string config_text(const Fusion& fusion);

}  // namespace qkprof::hlo
