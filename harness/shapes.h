// Shapes as they are written: BxSxHxD, or BxSxHq+HkxD where there are key heads.
#pragma once

#include "problem.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace qkprof {

struct Shape {
    std::int64_t batch = 0;
    std::int64_t sequence = 0;
    std::int64_t heads = 0;
    std::int64_t head_dim = 0;
    std::int64_t key_heads = 0;

    std::string text() const;
    // In the first form, but for its key heads.
    Problem problem() const;
    friend bool operator==(const Shape&, const Shape&) = default;
};

// Throws InputError, with the text and the place in it, for anything but whole numbers with x (and one +) between them,
// and for extents_fault().
Shape parse_shape(std::string_view text);

// Why qkprof cannot compute with the extents of a problem, as a clause: an odd head_dim or one below 2, more than
// max_rows head vectors, bytes that do not fit 63 bits. Empty if it can. An extent of zero hides no other.
std::string extents_fault(const Problem& problem);

}  // namespace qkprof
