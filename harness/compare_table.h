// A comparison to read, worst first: on a terminal, and in a pull request.
#pragma once

#include "compare.h"
#include "table.h"

#include <cstddef>
#include <string>
#include <vector>

namespace qkprof {

struct CompareView {
    bool strict = false;   // as for exit_of
    bool all = false;      // also what is the same, and each cell that is otherwise only counted
    bool explain = false;  // of each cell the noise, what would be found and the rule
};

// Cells of one standing whose reasons, which may be empty, differ in their numbers alone; in the order of the
// comparison.
struct Alike {
    std::string reason;  // of the first
    std::vector<const Difference*> cells;
};
std::vector<Alike> by_reason(const Comparison& comparison, Standing standing);

// Whether it says neither that NEW is worse nor that it is not.
constexpr bool undecided(Standing standing) {
    return standing == Standing::missing || standing == Standing::not_comparable || standing == Standing::inconclusive;
}

// A cell in a sentence: "fused/1x64x16x128/f32/warm: global_load_sectors 4096 -> 4160 (+1.6%, none allowed): worse."
std::string sentence_of(const Difference& difference);

// The verdict in one sentence.
std::string verdict_of(const Comparison& comparison, bool strict);

// What there is to know beside the cells, in sentences; `all`: with the names of all that NEW alone holds.
std::vector<std::string> notes_of(const Comparison& comparison, bool all);

// For a terminal: a section a standing, then how many cells there are of each, and the verdict. What is the same is
// only counted, and of many cells without a verdict for one reason the first is shown.
Table differences_table(const Comparison& comparison, const CompareView& view);

// For a comment on a pull request: the verdict as a heading, and what is not the same; folded where it is long.
std::string to_markdown(const Comparison& comparison, const CompareView& view);

}  // namespace qkprof
