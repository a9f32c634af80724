// Verdicts to read: for people, as a table of each claim's evidence, and for programs.
#pragma once

#include "judge.h"
#include "table.h"

#include <string>
#include <vector>

namespace qkprof {

// A row a claim.
Table verdicts_table(const std::vector<Verdict>& verdicts);

// A section a claim: statement, test, the evidence (of each subject and outcome the least and the greatest value),
// controls, reasons and source. Sentences are broken so that no line is longer than `width`; 0: not at all.
Table evidence_table(const std::vector<Verdict>& verdicts, std::size_t width);

// A row a cell of each claim and control, plain numbers.
Table evidence_rows(const std::vector<Verdict>& verdicts);

// All of it as one JSON object.
std::string to_json(const std::vector<Verdict>& verdicts, const DeviceInfo& device);

}  // namespace qkprof
