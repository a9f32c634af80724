// Tuning tables as files: profiles/<device>/tuning.toml, all of which are built into the program, and those that
// `qkprof tune` writes.
//
//     device = "NVIDIA H200"
//
//     [fused_best]
//     entries = [
//         {shape = "1x64x16x128", dtype = "bf16", parameters = {heads = 1, lanes = 8}, time_us = 1.71, copy_us = 1.67},
//     ]
//
// An entry is a problem as profiles/shapes.toml spells it and its storage type, a value for each tuned parameter of the
// variant, those of them that were given and not chosen (given = ["programmatic"], where there are any), and the warm
// times that were measured of it and of the ceiling, which may be absent where nobody measured.
#pragma once

#include "tuning.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace qkprof {

// Throws InputError, naming `source` and the line, where the text is no such table, or names a variant, parameter or
// value that is not among `known`.
TuningTable parse_tuning(std::string_view toml, std::string_view source, const std::vector<Variant>& known);

// The file's text, sorted, an entry a line.
std::string to_toml(const TuningTable& table);

// Those of the program, for the variants of this backend; read once.
const std::vector<TuningTable>& embedded_tuning(Backend backend);

// Why a table cannot hold the problem, as a clause; empty if it can.
std::string untabled(const Problem& problem);

// What merge() did with the entries.
struct Merged {
    std::size_t added = 0;
    std::size_t replaced = 0;
    std::size_t kept = 0;  // of what was there, as it was
};

// Puts the entries of `newer` in the place of those of the same problem and given parameters in `table`, or beside
// them.
Merged merge(TuningTable& table, const TuningTable& newer);

}  // namespace qkprof
