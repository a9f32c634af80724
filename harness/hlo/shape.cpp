#include "shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

namespace qkprof::hlo {
namespace {

constexpr std::int64_t bits_of_byte = 8;

// The digits that an element type's name holds first: 16 of bf16, 8 of f8e4m3fn.
std::optional<std::int64_t> bits_in_name(const std::string& element) {
    std::int64_t bits = 0;
    const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    auto digit = std::find_if(element.begin(), element.end(), is_digit);
    constexpr std::int64_t most_bits = 128;
    for (; digit != element.end() && is_digit(*digit) && bits <= most_bits; ++digit) {
        bits = bits * 10 + (*digit - '0');
    }
    return bits > 0 && bits <= most_bits ? std::optional(bits) : std::nullopt;
}

// Elements of less than a byte take one each unless the layout packs them.
std::optional<std::int64_t> bits_of(const Shape& shape) {
    if (shape.element == "pred") {
        return bits_of_byte;
    }
    if (shape.packed_bits > 0) {
        return shape.packed_bits;
    }
    const auto bits = bits_in_name(shape.element);
    return bits ? std::optional(std::max(*bits, bits_of_byte)) : std::nullopt;
}

std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
    return b != 0 && a > std::numeric_limits<std::int64_t>::max() / b ? std::nullopt : std::optional(a * b);
}

}  // namespace

std::optional<std::int64_t> bytes_of(const Shape& shape) {
    if (shape.is_tuple()) {
        std::int64_t sum = 0;
        for (const Shape& part : shape.parts) {
            const auto bytes = bytes_of(part);
            if (!bytes || *bytes > std::numeric_limits<std::int64_t>::max() - sum) {
                return {};
            }
            sum += *bytes;
        }
        return sum;
    }
    if (shape.element == "token") {
        return 0;
    }
    std::optional<std::int64_t> bits = shape.is_array() ? bits_of(shape) : std::nullopt;
    for (std::size_t i = 0; bits && i < shape.extents.size(); ++i) {
        bits = product(*bits, shape.extents[i]);
    }
    return bits ? std::optional(*bits / bits_of_byte + (*bits % bits_of_byte != 0 ? 1 : 0)) : std::nullopt;
}

std::string text_of(const Shape& shape) {
    if (shape.is_tuple()) {
        std::vector<std::string> parts;
        std::transform(shape.parts.begin(), shape.parts.end(), std::back_inserter(parts),
                       [](const Shape& part) { return text_of(part); });
        return fmt::format("({})", fmt::join(parts, ", "));
    }
    return fmt::format("{}[{}]", shape.element, fmt::join(shape.extents, ","));
}

std::vector<std::int64_t> order_of(const Shape& shape) {
    if (shape.has_layout) {
        return shape.minor_to_major;
    }
    std::vector<std::int64_t> order;
    for (auto i = static_cast<std::int64_t>(shape.extents.size()); i-- > 0;) {
        order.push_back(i);
    }
    return order;
}

bool same_layout(const Shape& a, const Shape& b) {
    if (a.parts.size() != b.parts.size() || a.extents != b.extents || a.packed_bits != b.packed_bits) {
        return false;
    }
    for (std::size_t i = 0; i < a.parts.size(); ++i) {
        if (!same_layout(a.parts[i], b.parts[i])) {
            return false;
        }
    }
    // A dimension of one element is nowhere in particular.
    const auto order = [](const Shape& shape) {
        std::vector<std::int64_t> kept;
        for (const std::int64_t dimension : order_of(shape)) {
            if (shape.extents.at(static_cast<std::size_t>(dimension)) != 1) {
                kept.push_back(dimension);
            }
        }
        return kept;
    };
    return order(a) == order(b);
}

}  // namespace qkprof::hlo
