// What stands in the way of measuring on this machine, and whether the instrument reads known traffic rightly.
#pragma once

#include "calibration.h"
#include "error.h"
#include "table.h"

#include <string>
#include <utility>
#include <vector>

namespace qkprof {

struct Diagnosis {
    struct Section {
        std::string heading;
        std::vector<std::pair<std::string, std::string>> facts;  // what, and what was found
    };
    std::vector<Section> sections;
    std::string no_gpu;  // why no GPU could be examined, a sentence; then there is no calibration
    Calibration calibration;
};

// Examines the GPU "auto" or "cuda" (the first) or "cuda:N". Throws InputError for any other word.
Diagnosis diagnose(const std::string& device);

// failed (a counter reads wrong), cannot_measure (no GPU, or something could not be read) or passed, in this order.
Exit verdict_of(const Diagnosis& diagnosis);

// Sentences: what is wrong, and what can be done on this machine all the same. Empty where all is well.
std::vector<std::string> advice_of(const Diagnosis& diagnosis);

// For people: what was found, a section each; then the calibration, if there is one; the advice below the last.
std::vector<Table> diagnosis_tables(const Diagnosis& diagnosis);
// For programs: the same rows, each with the name of its section and plain numbers.
Table diagnosis_rows(const Diagnosis& diagnosis);

}  // namespace qkprof
