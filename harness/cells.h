// What the tables of results have in common: how a variant and a problem are named, and why cells are empty.
#pragma once

#include "measurement.h"
#include "table.h"

#include <string>
#include <utility>
#include <vector>

namespace qkprof {

// With the parameters that are not standard; a ceiling is marked.
std::string variant_text(const Measurement& measurement);
// For a heading, what a problem is beyond its shape: ", packed, in-place, context 40960"; empty in the first form.
std::string form_text(const Problem& problem);

// The measurements of each problem together, those of one cache state after those of another.
std::vector<std::vector<const Measurement*>> by_problem(const std::vector<Measurement>& measurements);

// Why cells of a table are unknown: each reason once, with the columns it is for.
class Reasons {
  public:
    // A dash.
    Cell unknown_cell(const std::string& column, const std::string& reason);
    std::vector<std::string> notes() const;

  private:
    std::vector<std::pair<std::string, std::vector<std::string>>> reasons_;  // few, in the order they came up
};

}  // namespace qkprof
