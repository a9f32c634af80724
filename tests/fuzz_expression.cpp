// Expressions, relations, conditions, limits of bytes, and the words and lists of the command line, of arbitrary bytes:
// the fuzzer of TOML comes to them only through a whole claim.
#include "expression.h"
#include "fuzz.h"
#include "names.h"
#include "problem_options.h"
#include "shapes.h"

#include <limits>

namespace qkprof {
namespace {

void use(const Expression& expression) {
    const std::vector<double> ones(expression.terms().size(), 1);
    const double value = expression.value(ones);
    const Expression again = parse_expression(expression.text(), some_variants);
    expect(again.terms() == expression.terms(), "the text of an expression says the same: " + expression.text());
    const double same = again.value(ones);
    expect(value == same || (value != value && same != same), "and is worth the same: " + expression.text());
}

void use(const Relation& relation) {
    expect(relation.allowed.low <= relation.allowed.high, "a relation is an interval: " + relation.text);
    expect(!relation.is_exact() || relation.holds(relation.allowed.low), "an exact relation holds: " + relation.text);
    expect(relation.overlaps(relation) || !relation.is_exact(), "a relation overlaps itself: " + relation.text);
    for (const double value : {-1.0, 0.0, 1.0, std::numeric_limits<double>::infinity()}) {
        relation.holds(value);
    }
}

void use(const Condition& condition) {
    use(condition.measure);
    use(condition.relation);
}

void use(const BytesLimit& limit) {
    use(limit.relation);
    limit.holds(0x1p30, 0x1p25);
}

void use(const Shape& shape) {
    expect(parse_shape(shape.text()) == shape, "the text of a shape says the same: " + shape.text());
    shape.problem().compulsory_bytes();
}

void use(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        matches_glob(word, some_variants.front());
        suggestion(word, some_variants);
    }
}

template <class Read>
void read_and_use(const Read& read) {
    if (const auto item = read_or_refused(read)) {
        use(*item);
    }
}

// By the one that the first letter chooses.
void read(char reader, const std::string& text) {
    switch (reader) {
        case 'e':
            return read_and_use([&] { return parse_expression(text, some_variants); });
        case 'r':
            return read_and_use([&] { return parse_relation(text); });
        case 'c':
            return read_and_use([&] { return parse_condition(text, some_variants); });
        case 'b':
            return read_and_use([&] { return parse_bytes_limit(text); });
        case 's':
            return read_and_use([&] { return parse_shape(text); });
        case 'l':
            return read_and_use([&] { return split_list(text, "--variants"); });
        case 'm':
            read_or_refused([&] { return parse_bytes(text, "--l2"); });
            return;
        default:
            break;
    }
    const auto option = static_cast<std::size_t>(static_cast<unsigned char>(reader) - 'A');  // A is the first, B ...
    if (option < problem_options().size() && text.find('@') == std::string::npos) {  // what follows it names a file
        const ProblemOption& chosen = problem_options()[option];
        if (const auto setting = read_or_refused([&] { return chosen.parse(text, chosen.name); })) {
            Problem problem;
            (*setting)(problem);
        }
    }
}

}  // namespace
}  // namespace qkprof

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    if (!text.empty()) {
        qkprof::read(text.front(), text.substr(1));
    }
    return 0;
}
