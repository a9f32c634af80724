// A problem as the TOML files of profiles/ spell it: a shape and options, of any storage type.
#pragma once

#include "problem_options.h"
#include "shapes.h"

namespace qkprof {

struct PresetProblem {
    Shape shape;
    ProblemOptions options;

    Problem problem(DataType dtype) const;
};

// Why the problem cannot be run, by its extents or else, as a clause; empty if it can.
std::string fault_of(const Problem& problem);

}  // namespace qkprof
