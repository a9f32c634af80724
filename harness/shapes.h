// Shapes as they are written (BxSxHxD) and the presets of profiles/shapes.toml, which is built into the program.
#pragma once

#include "problem.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qkprof {

struct Shape {
    std::int64_t batch = 0;
    std::int64_t sequence = 0;
    std::int64_t heads = 0;
    std::int64_t head_dim = 0;

    std::string text() const;  // BxSxHxD
    friend bool operator==(const Shape&, const Shape&) = default;
};

// Throws InputError, with the text and the place in it, for anything but four whole numbers with x between them, an odd
// head_dim or one below 2, more than max_rows rows, or bytes that do not fit 63 bits.
Shape parse_shape(std::string_view text);

struct Preset {
    std::string name;
    std::string meaning;
    std::vector<Shape> shapes;  // empty when the shape follows the L2
    double l2_multiple = 0;     // (q + out) / L2
    Shape partial;              // the extents that are given; batch or sequence is 0 and follows

    // The shapes for a device and a storage type.
    std::vector<Shape> resolve(std::int64_t l2_bytes, DataType dtype) const;
};

// Throws InputError, naming `source` and the place, where the text is not as shapes.toml describes itself.
std::vector<Preset> parse_presets(std::string_view toml, std::string_view source);

// Those of profiles/shapes.toml.
const std::vector<Preset>& presets();

// The shapes of one word of --shapes: a shape or a preset. Throws InputError, with the nearest preset.
std::vector<Shape> shapes_of(std::string_view word, std::int64_t l2_bytes, DataType dtype);

}  // namespace qkprof
