#include "shape_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace qkprof::hlo {
namespace {

constexpr int deepest_tuple = 32;
constexpr std::size_t most_dimensions = 64;

void extents(Scanner& scan, Shape& shape) {
    scan.expect('[', "a shape");
    for (scan.skip_blank(); !scan.take(']'); scan.skip_blank()) {
        const bool bounded = scan.take("<=");
        if (!bounded && scan.take('?')) {
            scan.fail("an extent is unknown ('?'): nothing can be said of its bytes");
        }
        shape.dynamic = shape.dynamic || bounded;
        const long long extent = scan.number("a shape");
        if (extent < 0 || shape.extents.size() == most_dimensions) {
            scan.fail(extent < 0 ? "an extent of a shape is negative"
                                 : "a shape has too many dimensions: it is not read");
        }
        shape.extents.push_back(extent);
        scan.skip_blank();
        scan.take(',');
    }
}

// The tiles, sizes and memory space that follow the order: "T(8,128)(2,1)S(5)".
void placement(Scanner& scan, Shape& shape) {
    while (scan.peek() != '}') {
        const std::size_t before = scan.at();
        const std::string_view letter = scan.word();
        scan.expect('(', "a layout");
        const std::string_view inside = scan.until(")", "a layout");
        scan.expect(')', "a layout");
        if (letter == "S") {
            shape.on_host = inside == "5";
        } else if (letter == "E") {
            const std::size_t after = scan.at();
            scan.back_to(before + 2);
            constexpr long long most_bits = 128;
            const long long bits = scan.number("a layout");
            if (bits < 1 || bits > most_bits) {
                scan.fail("an element of a shape has no such number of bits");
            }
            shape.packed_bits = static_cast<int>(bits);
            scan.back_to(after);
        }
    }
}

void layout(Scanner& scan, Shape& shape) {
    std::set<std::int64_t> seen;
    scan.skip_in_line();
    while (scan.peek() != '}' && scan.peek() != ':') {
        const long long dimension = scan.number("a layout");
        if (dimension < 0 || dimension >= static_cast<long long>(shape.extents.size()) ||
            !seen.insert(dimension).second) {
            scan.fail(fmt::format("a layout names dimension {} of a shape of {}", dimension, shape.extents.size()));
        }
        shape.minor_to_major.push_back(dimension);
        scan.skip_in_line();
        if (!scan.take(',') && scan.peek() != '}' && scan.peek() != ':') {
            scan.fail(fmt::format("in a layout, '}}' is expected where {} stands", scan.here()));
        }
        scan.skip_in_line();
    }
    shape.has_layout = !seen.empty() || shape.extents.empty();
    if (shape.has_layout && seen.size() != shape.extents.size()) {
        scan.fail(fmt::format("a layout orders {} dimensions of a shape of {}", seen.size(), shape.extents.size()));
    }
    if (scan.take(':')) {
        placement(scan, shape);
    }
    scan.expect('}', "a layout");
}

Shape shape_within(Scanner& scan, int depth) {
    Shape shape;
    scan.skip_blank();
    if (scan.take('(')) {
        if (depth == deepest_tuple) {
            scan.fail(fmt::format("tuples are nested deeper than {} levels: it is not read", deepest_tuple));
        }
        for (scan.skip_blank(); !scan.take(')'); scan.skip_blank()) {
            shape.parts.push_back(shape_within(scan, depth + 1));
            scan.skip_blank();
            if (!scan.take(',') && scan.peek() != ')') {
                scan.fail(fmt::format("in a tuple, ',' or ')' is expected where {} stands", scan.here()));
            }
        }
        return shape;
    }
    const std::string here = scan.here();
    shape.element = scan.word();
    if (shape.element.empty()) {
        scan.fail(fmt::format("a shape such as f32[2,3] is expected where {} stands", here));
    }
    extents(scan, shape);
    if (scan.take('{')) {  // a blank before it would make it what comes next
        layout(scan, shape);
    }
    return shape;
}

}  // namespace

Shape parse_shape(Scanner& scan) { return shape_within(scan, 0); }

}  // namespace qkprof::hlo
