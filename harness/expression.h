// What a claim measures and what it says of it, as people write them:
//   real_time[copy] / real_time >= 0.98
// The measure is an expression of numbers, + - * / and parentheses, and of quantities; the relation is a set of values.
#pragma once

#include "measurement.h"
#include "statistics.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qkprof {

// Which problem of those that a claim covers a quantity is of: that of the cell, or of the same type and state the one
// with the smallest or the largest working set.
enum class SizeOf : std::uint8_t { cell, smallest, largest };

// A quantity in an expression, as `dram_read_bytes` or `real_time[copy, warm]`: of the claim's subject in the cell
// unless the brackets name another variant, state, type or size.
struct Term {
    std::string quantity;
    std::string variant;  // empty: the subject; as claims_subjects.h has it
    std::optional<CacheState> state;
    std::optional<DataType> dtype;
    SizeOf size = SizeOf::cell;

    friend bool operator==(const Term&, const Term&) = default;
};

// Times have samples and an interval; counts are exact.
bool is_time(std::string_view quantity);

class Expression {
  public:
    const std::string& text() const { return text_; }
    const std::vector<Term>& terms() const { return terms_; }  // each once
    bool timed() const;
    double value(std::span<const double> of_terms) const;

  private:
    friend class ExpressionParser;
    struct Step {  // of a stack machine
        enum class Kind : std::uint8_t { number, term, add, subtract, multiply, divide, negate } kind;
        double number = 0;
        std::size_t term = 0;
    };
    std::string text_;
    std::vector<Term> terms_;
    std::vector<Step> steps_;
    std::size_t depth_ = 0;  // of the stack
};

// The variants of the brackets are looked up among `variants`. Throws InputError, with the character and a near name,
// for what is no expression of known quantities.
Expression parse_expression(std::string_view text, const std::vector<std::string>& variants);

// The values that a claim allows: an interval.
struct Relation {
    std::string text;
    Interval allowed;
    bool without_low = false;  // its ends do not belong to it
    bool without_high = false;

    bool holds(double value) const;
    // Whether it allows one value alone: then it is for counts.
    bool is_exact() const { return allowed.low == allowed.high; }
    bool overlaps(const Relation& other) const;
};

// Reads "= 1", "< 1", "<= 1.02", "> 1", ">= 0.98", "within 5 % of 1" or "from 0.9 to 1.1". Throws InputError.
Relation parse_relation(std::string_view text);

// "real_time[copy] / real_time >= 0.98": both together.
struct Condition {
    Expression measure;
    Relation relation;
};
Condition parse_condition(std::string_view text, const std::vector<std::string>& variants);

// A limit of a number of bytes, "<= 0.25 L2" or ">= 64 MiB".
struct BytesLimit {
    std::string text;
    Relation relation;   // in units
    double unit = 1;     // bytes
    bool in_l2 = false;  // the unit is the L2 of the device

    bool holds(double bytes, double l2_bytes) const { return relation.holds(bytes / (in_l2 ? l2_bytes : unit)); }
};
BytesLimit parse_bytes_limit(std::string_view text);

}  // namespace qkprof
