// Chooses the values of tuned parameters (Parameter::tuned) for a problem, from what was measured on others. Nothing
// asks a variant anything before its request went through resolve().
//
// Of the tables that of the device is taken; where there is none, or it has nothing of the variant, the first that has.
// Of its entries the problem's own is taken, and else the nearest, among those that the variant does not refuse for
// this problem with the parameters that are given. An entry may be for given parameters, too: it is taken only where
// those are given, and then before another of the same problem. Nearest is what differs least in, one after the other:
// the bytes of an element; whether it is the plain form (Problem::is_plain); the head dim, by its ratio; whether there
// are key heads; whether it is in place; the compulsory bytes, by their ratio. Of entries that are as near the first is
// taken. Where all are refused, the first in that order stands, and its refusal is the refusal.
#pragma once

#include "tuned_from.h"
#include "variant.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qkprof {

// What was found to be the best for one problem.
struct TuningEntry {
    Problem problem;
    Parameters parameters;                // a value for each of the variant's tuned parameters
    std::vector<std::string> given = {};  // those of them that were not chosen, but given
    std::optional<double> seconds;        // a warm call with them; none: not measured
    std::optional<double> copy_seconds;   // the ceiling's, in the same run
};

struct TuningTable {
    std::string device;                                                    // as DeviceInfo::description
    std::map<std::string, std::vector<TuningEntry>, std::less<>> entries;  // by variant
};

// What of a problem decides its tuning is the same: all but seed, values, eps and rotary base.
bool is_tuned_alike(const Problem& a, const Problem& b);

// And so are the given parameters, with their values.
bool is_tuned_alike(const TuningEntry& a, const TuningEntry& b);

// "1x64x32+8x128 packed in-place bf16"
std::string tuning_text(const Problem& problem);

// A request with nothing left as tuned.
struct Resolved {
    Request request;
    std::optional<TunedFrom> tuned_from;  // none: nothing was left to choose
    std::string refusal;                  // why the variant does not run it; then the request may lack parameters
};

// `parameters`: all of the variant's; those that are as_tuned are chosen, the others stay.
Resolved resolve(const Variant& variant, const Parameters& parameters, const Problem& problem, const Limits& limits,
                 std::string_view device, const std::vector<TuningTable>& tables);

}  // namespace qkprof
