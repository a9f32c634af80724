// What of an exec profile belongs to one module.
#pragma once

#include "exec/exec_profile.h"
#include "promise.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace qkprof::hlo {

// Launches by a kernel's name.
using Launches = std::map<std::string, std::uint64_t>;

struct Scope {
    Launches kernels;
    std::map<std::string, Launches> by_instruction;  // within XLA's ranges of them
    std::map<std::string, std::uint64_t> transfers_by_instruction;
    std::uint64_t transfers = 0;
    std::uint64_t calls = 0;  // of the ranges; 0: the whole profile
    std::set<std::uint32_t> devices;
    std::set<std::string> other_modules;  // XLA's own ranges are of these alone: then nothing is taken
    bool of_module = false;               // XLA's own ranges of the module: a call is an execution on one device
};

Scope scope_of(const Module& module, const exec::ExecProfile& profile,
               const std::vector<const exec::RangeRow*>& ranges);

}  // namespace qkprof::hlo
