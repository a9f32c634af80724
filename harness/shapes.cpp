#include "shapes.h"

#include "error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace qkprof {
namespace {

// Reads the extents of a shape from left to right.
class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text), at_(text.data()), end_(text.data() + text.size()) {}

    std::int64_t extent(const char* name) {
        std::int64_t value = 0;
        const auto [after, error] = std::from_chars(at_, end_, value);
        if (error == std::errc::result_out_of_range) {
            throw malformed(fmt::format("the {} does not fit a 64-bit number", name));
        }
        if (error != std::errc()) {
            throw malformed(fmt::format("the {} is not a whole number", name));
        }
        if (value < 0 || *at_ == '-') {
            throw malformed(fmt::format("the {} is negative", name));
        }
        at_ = after;
        return value;
    }
    bool skip(char letter) {
        const bool found = at_ != end_ && *at_ == letter;
        at_ += found ? 1 : 0;
        return found;
    }
    bool at_end() const { return at_ == end_; }
    InputError malformed(const std::string& why) const {
        return InputError(
            fmt::format("The shape '{}' is malformed at character {}: {}. Shapes are written BxSxHxD "
                        "(batch, sequence, heads, head_dim), such as 2x1024x16x128, or BxSxHq+HkxD with key heads, "
                        "such as 1x64x32+8x128.",
                        text_, at_ - text_.data() + 1, why));
    }

  private:
    std::string_view text_;
    const char* at_;
    const char* end_;
};

}  // namespace

std::string Shape::text() const { return problem().shape_text(); }

Problem Shape::problem() const {
    return {.batch = batch, .sequence = sequence, .heads = heads, .key_heads = key_heads, .head_dim = head_dim};
}

Shape parse_shape(std::string_view text) {
    Shape shape;
    Reader reader(text);
    const auto next = [&](const char* name) {
        if (!reader.skip('x')) {
            throw reader.malformed(fmt::format("an x and the {} are missing", name));
        }
        return reader.extent(name);
    };
    shape.batch = reader.extent("batch");
    shape.sequence = next("sequence");
    shape.heads = next("heads");
    if (reader.skip('+')) {
        shape.key_heads = reader.extent("number of key heads");
    }
    shape.head_dim = next("head_dim");
    if (!reader.at_end()) {
        throw reader.malformed("nothing may follow the head_dim");
    }
    const std::string fault = extents_fault(shape.problem());
    if (!fault.empty()) {
        throw InputError(fmt::format("The shape '{}' cannot be a problem: {}.", text, fault));
    }
    return shape;
}

std::string extents_fault(const Problem& p) {
    if (p.head_dim < 2 || p.head_dim % 2 != 0) {
        return fmt::format("head_dim is {}, and the rotation pairs its two halves: it must be even and at least 2",
                           p.head_dim);
    }
    // In floating point, where nothing overflows. An extent of zero must not hide another.
    const auto at_least_one = [](std::int64_t extent) { return std::max(static_cast<double>(extent), 1.0); };
    const double tokens = at_least_one(p.batch) * at_least_one(p.sequence);
    if (tokens * (at_least_one(p.heads) + static_cast<double>(p.key_heads)) > static_cast<double>(max_rows)) {
        return fmt::format("it has more than {} head vectors (batch * sequence * heads)", max_rows);
    }
    // A packed row has as many value heads as key heads.
    const double row = (at_least_one(p.heads) + 2 * static_cast<double>(p.key_heads)) * at_least_one(p.head_dim) +
                       static_cast<double>(p.row_padding);
    const double table = at_least_one(p.table_positions()) * at_least_one(p.head_dim);
    constexpr double bytes_per_element = 64;  // inputs, results and every intermediate that a variant may keep
    if (std::max(tokens * row, table) * bytes_per_element >= 0x1p63) {
        return "its bytes do not fit a 64-bit number";
    }
    return {};
}

}  // namespace qkprof
