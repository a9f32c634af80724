// The claims file: what is said about the variants, as a test of it that can fail. profiles/claims.toml, which is built
// into the program, describes the format to those who write one.
#pragma once

#include "expression.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qkprof {

// Conditions on a cell: a problem and a cache state. What is empty allows everything.
struct Where {
    std::vector<CacheState> states;
    std::vector<DataType> dtypes;
    std::vector<std::string> shapes;               // globs over Problem::text('/')
    std::optional<std::vector<Feature>> features;  // that the problem asks for, exactly these: none is the first form
    std::vector<BytesLimit> working_set;           // of Problem::working_set_bytes
    std::vector<BytesLimit> moved;                 // of Problem::compulsory_bytes
    std::string device;                            // a glob over its description
    std::vector<Condition> when;                   // of the medians measured in the cell
};

// What must be seen of each subject in each cell.
struct Test {
    std::vector<std::string> subjects;  // globs over variants (claims_subjects.h)
    Expression measure;
    Relation relation;
    bool negated = false;  // the relation must fail
    Where where;
};

struct Claim {
    std::string id;
    std::string statement;
    std::string source;
    Test test;
    // Along the sizes of a subject the relation is to hold below one size and to fail from there on.
    bool along_size = false;
    std::vector<Test> controls;  // at least one: what must be seen if the test has teeth
};

// Throws InputError, naming `source` and the line, for whatever is unknown or missing; `variants` are all there are,
// with standard parameters.
std::vector<Claim> parse_claims(std::string_view toml, std::string_view source,
                                const std::vector<std::string>& variants);

// Of profiles/claims.toml.
extern const char* const embedded_claims_toml;

// Those with one of these ids, which may be globs, or all where there are none. Throws InputError for an id that no
// claim has.
std::vector<Claim> choose_claims(std::vector<Claim> claims, const std::vector<std::string>& ids);

// The measure and what must hold of it, as "launches = 1" or "launches = 1 must fail"; its conditions, as
// "cold; working set >= 4 L2", empty where there are none.
std::string text_of(const Test& test);
std::string text_of(const Where& where);

}  // namespace qkprof
