// The type of a value in HLO text, with the layout it has in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qkprof::hlo {

struct Shape {
    std::string element;                       // "f32", "token", "opaque"; empty: a tuple
    std::vector<std::int64_t> extents;         // the most, where they are dynamic
    bool dynamic = false;                      // some extent is known at run time alone: "<=8"
    bool has_layout = false;                   // as written; without one an array lies major first
    std::vector<std::int64_t> minor_to_major;  // as written
    int packed_bits = 0;                       // of an element, where the layout says so: "E(4)"; 0: it does not
    bool on_host = false;                      // memory space 5
    std::vector<Shape> parts;                  // of a tuple

    bool is_tuple() const { return element.empty(); }
    bool is_array() const { return !is_tuple() && element != "token" && element != "opaque"; }
};

// Of memory; none where the element type is unknown or opaque, or the number exceeds 63 bits. Layouts pad nothing.
std::optional<std::int64_t> bytes_of(const Shape& shape);

// As in HLO without the layout: "f32[2,3]", "(s32[], f32[8])".
std::string text_of(const Shape& shape);

// Its dimensions from the fastest varying to the slowest.
std::vector<std::int64_t> order_of(const Shape& shape);

// Whether a copy from one to the other moves no element to another place.
bool same_layout(const Shape& a, const Shape& b);

}  // namespace qkprof::hlo
