// Profiles as evidence: which measurements a test covers, and what an expression is worth in one of them. Sees profiles
// alone, never a device.
#pragma once

#include "claims.h"
#include "profile.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qkprof {

// One measurement of the evidence, and the profile it is from.
struct Exhibit {
    const Measurement* measurement = nullptr;
    std::size_t profile = 0;
};

// A measurement that a test covers, or of which it cannot be said whether it does.
struct Covered {
    Exhibit exhibit;
    std::string unknown;  // why it cannot be said; empty: it is covered
};

// An expression in one cell: unknown, with the reason; or a number, of counts alone; or made of samples, too.
struct Finding {
    std::string unknown;
    double value = 0;  // of the medians
    std::size_t samples = 0;
    // Of a timed expression: what bootstrap() needs.
    std::vector<Together> groups;
    Statistic statistic;
};

class Evidence {
  public:
    // `profiles` must outlive it. Throws InputError where they are of different devices, or two hold the same
    // measurement.
    explicit Evidence(const std::vector<Profile>& profiles);

    // The measurements of the subjects where the conditions are met. Those whose variant refuses the problem are none.
    std::vector<Covered> covered(const Test& test) const;
    // Where none are covered, what there is of the subjects instead: "fused refused: it ...", each clause once.
    std::vector<std::string> instead_of_covered(const Test& test) const;
    // `covered` are those of the same test.
    Finding find(const Expression& expression, const Exhibit& cell, const std::vector<Covered>& covered) const;

    const DeviceInfo& device() const { return device_; }

  private:
    struct Value {
        std::string unknown;
        double number = 0;
        Exhibit of;
        const std::vector<double>* samples = nullptr;  // of a time
    };
    Value value_of(const Term& term, const Exhibit& cell, const std::vector<Covered>& covered) const;
    static std::string differing_timers(const std::vector<Value>& values);
    bool meets(const Where& where, const Measurement& measurement) const;
    // Whether the test could be of this one, if it ran and had these parameters: of an empty problem, which launches
    // nothing, none is.
    bool is_about(const Test& test, const Measurement& measurement, std::string_view parameters) const;

    DeviceInfo device_;
    std::vector<Exhibit> exhibits_;
    std::map<std::string, Exhibit, std::less<>> by_name_;  // Measurement::name()
};

}  // namespace qkprof
