// Which variants, with which parameters, a command is about.
#pragma once

#include "variant.h"

#include <string>
#include <vector>

namespace qkprof {

// One variant with one value of each of its parameters.
struct Candidate {
    const Variant* variant = nullptr;
    Parameters parameters;    // all of them; some may be as_tuned
    Parameters non_standard;  // those that differ from the standard
};

// The values to try of one parameter.
struct Sweep {
    std::string parameter;
    std::vector<int> values;
};

// Reads "parameter=v1,v2". Throws InputError for anything else.
Sweep parse_sweep(const std::string& text);

// The variants whose name matches any of the globs, in the order of `all`, each with every combination of the swept
// values of those parameters that it has and the standard of the others. Throws InputError for a glob that matches
// nothing, a parameter that no chosen variant has, and a value that is not in a variant's list.
std::vector<Candidate> select(const std::vector<Variant>& all, const std::vector<std::string>& globs,
                              const std::vector<Sweep>& sweeps);

// A variant with its standard parameters.
Candidate standard_candidate(const Variant& variant);

}  // namespace qkprof
