// A fleet for people and for programs.
#pragma once

#include "fleet.h"
#include "table.h"

#include <cstddef>
#include <string>
#include <vector>

namespace qkprof {

// A section a model, a row a GPU, the worst first; without `all` no more of the ordinary ones than fill a short table.
// Notes are broken into lines of at most `width` characters; 0: not at all.
Table gpus_table(const Fleet& fleet, bool all, std::size_t width);

// By metric, how far the GPUs of a model differ; without `all` the measurement in which they differ most, of times ten.
Table spreads_table(const Fleet& fleet, bool all, std::size_t width);

// For programs: a row a GPU, plain numbers, an empty cell for what is unknown.
Table gpus_rows(const Fleet& fleet);

// All of it.
std::string to_json(const Fleet& fleet);

// A sentence for each GPU that is not as the rest; the inconclusive ones together by their reason.
std::vector<std::string> sentences_of(const Fleet& fleet);

}  // namespace qkprof
