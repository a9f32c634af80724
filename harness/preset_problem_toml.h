// Reads a problem of a TOML file.
#pragma once

#include "preset_problem.h"
#include "toml_reader.h"

#include <initializer_list>
#include <string>
#include <string_view>

namespace qkprof {

InputError bad_file(std::string_view source, const toml::source_region& place, const std::string& why);

// A text, the shape; or a table with that as its `shape` and options, called as on the command line without the dashes.
// `others` are keys of the table that are not the problem's. Throws InputError where it is no problem that can be run
// in every storage type.
PresetProblem read_preset_problem(std::string_view source, const toml::node& item,
                                  std::initializer_list<std::string_view> others = {});

}  // namespace qkprof
