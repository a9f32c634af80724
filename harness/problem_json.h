// The fields of an entry of a profile that say what the problem is beyond its shape and storage type, and a problem
// read from all of its fields.
#pragma once

#include "json_object.h"
#include "problem.h"

namespace qkprof {

// Adds what differs from the first form, and only that.
void add_form(nlohmann::ordered_json& entry, const Problem& problem);

// What is absent is as in the first form. Throws InputError, with the place, where it is no problem that qkprof can
// run.
Problem read_problem(const JsonObject& entry);

}  // namespace qkprof
