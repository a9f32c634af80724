#include "slices.h"

#include <algorithm>

namespace qkprof::hlo {

bool is_one_stretch(const Shape& whole, const Shape& part) {
    const std::vector<std::int64_t> order = order_of(whole);
    if (!whole.is_array() || !part.is_array() || whole.extents.size() != part.extents.size() ||
        order_of(part) != order || whole.packed_bits != 0 || part.packed_bits != 0) {
        return false;
    }
    bool partial = false;  // from there on, towards the slowest dimension, it takes one element of each
    for (const std::int64_t dimension : order) {
        const auto at = static_cast<std::size_t>(dimension);
        if (partial && part.extents[at] != 1) {
            return false;
        }
        partial = partial || part.extents[at] != whole.extents[at];
    }
    return true;
}

bool is_one_stretch(const Computation& body) {
    bool moves = false;
    const Instruction* value = &body.instructions[body.root];
    while (value->opcode == "bitcast" || value->opcode == "copy" || value->opcode == "slice") {
        if (value->operands.size() != 1) {
            return false;
        }
        const Instruction& from = body.instructions[value->operands.front()];
        if (value->opcode == "copy" && !same_layout(value->shape, from.shape)) {
            return false;
        }
        if (value->opcode == "slice") {
            const std::string_view bounds = value->attribute("slice");
            const bool strided = std::any_of(bounds.begin(), bounds.end(), [colons = 0](char c) mutable {
                colons = c == '[' ? 0 : colons + (c == ':' ? 1 : 0);
                return colons > 1;
            });
            if (strided || !is_one_stretch(from.shape, value->shape)) {
                return false;
            }
        }
        moves = moves || value->opcode != "bitcast";
        value = &from;
    }
    return moves && value->opcode == "parameter";
}

}  // namespace qkprof::hlo
