#include "claims_subjects.h"

#include "names.h"

#include <fmt/format.h>

#include <algorithm>

namespace qkprof {
namespace {

std::string parameter_text(const std::string& name, int value) { return fmt::format("/{}:{}", name, value); }

// All subjects and variants that a test names.
void add_names(std::vector<std::string>& names, const Test& test) {
    names.insert(names.end(), test.subjects.begin(), test.subjects.end());
    const auto add = [&](const Expression& expression) {
        for (const Term& term : expression.terms()) {
            names.push_back(term.variant);
        }
    };
    add(test.measure);
    for (const Condition& condition : test.where.when) {
        add(condition.measure);
    }
}

}  // namespace

std::string parameters_text(const Parameters& non_standard) {
    std::string text;
    for (const auto& [name, value] : non_standard) {
        text += parameter_text(name, value);
    }
    return text;
}

SubjectName split_subject(std::string_view subject) {
    const std::size_t slash = std::min(subject.find('/'), subject.size());
    return {subject.substr(0, slash), subject.substr(slash)};
}

std::string subject_of(const Measurement& measurement) {
    return measurement.variant + parameters_text(measurement.non_standard);
}

bool is_named(const std::string& subject, const std::string& variant, std::string_view parameters) {
    const SubjectName name = split_subject(subject);
    return name.parameters == parameters && matches_glob(name.variant, variant);
}

std::vector<std::string> with_parameters(std::vector<std::string> names) {
    const std::vector<std::string> plain = names;
    for (const Variant& variant : variants(Backend::emulated)) {
        if (std::find(plain.begin(), plain.end(), variant.name) == plain.end()) {
            continue;
        }
        for (const Parameter& parameter : variant.parameters) {
            for (const int value : parameter.values) {
                if (value != parameter.standard) {
                    names.push_back(variant.name + parameter_text(parameter.name, value));
                }
            }
        }
    }
    return names;
}

std::vector<Candidate> further_candidates(const std::vector<Claim>& claims, const std::vector<Candidate>& candidates) {
    std::vector<std::string> names;
    for (const Claim& claim : claims) {
        add_names(names, claim.test);
        for (const Test& control : claim.controls) {
            add_names(names, control);
        }
    }
    std::vector<Candidate> further;
    for (const Candidate& candidate : candidates) {
        for (const Parameter& parameter : candidate.variant->parameters) {
            for (const int value : parameter.values) {
                const std::string text = parameter_text(parameter.name, value);
                if (value != parameter.standard && std::any_of(names.begin(), names.end(), [&](const auto& name) {
                        return is_named(name, candidate.variant->name, text);
                    })) {
                    Candidate named = candidate;
                    named.parameters[parameter.name] = value;
                    named.non_standard[parameter.name] = value;
                    further.push_back(std::move(named));
                }
            }
        }
    }
    return further;
}

}  // namespace qkprof
