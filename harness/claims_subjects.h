// What claims are about: a variant ("fused_best", with * and ?), which is one with its standard parameters, or a
// variant with one of its parameters at another value, as the name of an entry has it: "fused_best/programmatic:0".
#pragma once

#include "claims.h"
#include "selection.h"

#include <string>
#include <string_view>
#include <vector>

namespace qkprof {

// "/programmatic:0" for each parameter that is not the standard; empty where none is.
std::string parameters_text(const Parameters& non_standard);
// "fused_best" and "/programmatic:0"; the second is empty in a name without parameters.
struct SubjectName {
    std::string_view variant;
    std::string_view parameters;
};
SubjectName split_subject(std::string_view subject);

// What a claim calls the variant of a measurement.
std::string subject_of(const Measurement& measurement);
// Whether the subject names a variant with these parameters.
bool is_named(const std::string& subject, const std::string& variant, std::string_view parameters);

// The names, and behind them those of the variants of this program with one parameter at another value.
std::vector<std::string> with_parameters(std::vector<std::string> names);

// What is to be measured beside these candidates, which have standard parameters: of their variants those with
// parameters that the claims name, each once.
std::vector<Candidate> further_candidates(const std::vector<Claim>& claims, const std::vector<Candidate>& candidates);

}  // namespace qkprof
