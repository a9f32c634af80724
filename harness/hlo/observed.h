// A promise beside what ran: each instruction with its kernels, and every difference.
#pragma once

#include "exec/exec_profile.h"
#include "promise.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace qkprof::hlo {

// Of one row.
struct Observation {
    std::optional<double> kernels;    // launches an execution on one device; none: not told apart from others
    std::optional<double> transfers;  // copies and fills, likewise
    std::vector<std::string> names;   // of those kernels
    bool by_range = false;            // XLA's own NVTX range says so; false: the kernels' names do
};

// A kernel that belongs to no instruction.
struct Stray {
    std::string name;
    double launches = 0;  // an execution
};

struct Observed {
    double executions = 0;          // of the module, each device's counted
    std::string how;                // how they are known, a clause
    bool scoped = false;            // what ran is the module's alone
    std::vector<Observation> rows;  // as the promise's
    std::map<Class, std::optional<double>> classes;
    std::map<Class, std::optional<double>> class_transfers;  // only of one that alone may copy or fill
    double kernels = 0;                                      // an execution, of all that ran in the scope
    std::optional<double> transfers;                         // likewise
    std::vector<Stray> strays;             // nothing promised them, or more than one instruction may have
    std::string strays_of;                 // those instructions; empty: none
    std::vector<std::string> differences;  // sentences
    bool broken = false;                   // a firm promise is
    std::vector<std::string> doubts;       // why the profile may hold less than ran, sentences
    std::vector<std::string> of_others;    // the modules that the profile's XLA ranges alone are of
    std::size_t joined = 0;                // rows whose kernels were found
    bool identified = false;               // what ran is the module's, also where no kernel is joined with it

    bool nothing_joined() const { return joined == 0 && !identified; }
};

// `ranges`: those whose calls are the executions; empty: XLA's own ranges of the module, or else the whole profile.
Observed observe(const Promise& promise, const exec::ExecProfile& profile,
                 const std::vector<const exec::RangeRow*>& ranges);

}  // namespace qkprof::hlo
