#include "preset_problem_toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace qkprof {
namespace {

// What stands in the file for an option, as it would be typed; nothing for what no option is.
std::optional<std::string> typed(const toml::node& value) {
    if (const auto number = value.value_exact<std::int64_t>()) {
        return std::to_string(*number);
    }
    if (const auto number = value.value_exact<double>()) {
        return fmt::format("{}", *number);
    }
    return value.value_exact<std::string>();
}

// Sets the option that a key means. `names`: the other keys that the table may have.
void set_option(std::string_view source, std::string_view key, const toml::node& value, std::vector<std::string> names,
                ProblemOptions& options) {
    const std::string name = fmt::format("--{}", key);
    for (const ProblemFlag& flag : problem_flags()) {
        names.emplace_back(flag.name + 2);
        if (name == flag.name) {
            if (!value.is_boolean()) {
                throw bad_file(source, value.source(), fmt::format("'{}' is neither true nor false", key));
            }
            options.*flag.value = **value.as_boolean();
            return;
        }
    }
    for (const ProblemOption& option : problem_options()) {
        names.emplace_back(option.name + 2);
        if (name == option.name) {
            const std::optional<std::string> text = typed(value);
            if (!text || text->empty()) {
                throw bad_file(source, value.source(), fmt::format("'{}' is neither text nor a number", key));
            }
            if (text->find('@') != std::string::npos) {
                throw bad_file(source, value.source(), "a preset names no file of the machine that it runs on");
            }
            options.*option.value = *text;
            return;
        }
    }
    throw InputError(fmt::format("{}, line {}: a problem has no '{}'.{}", source, value.source().begin.line, key,
                                 suggestion(key, names)));
}

}  // namespace

Problem PresetProblem::problem(DataType dtype) const {
    Problem problem = shape.problem();
    problem.dtype = dtype;
    for (const Setting& setting : parse(options)) {
        setting(problem);
    }
    return problem;
}

std::string fault_of(const Problem& problem) {
    const std::string fault = extents_fault(problem);
    return fault.empty() ? problem.fault() : fault;
}

InputError bad_file(std::string_view source, const toml::source_region& place, const std::string& why) {
    return InputError(fmt::format("{}, line {}: {}.", source, place.begin.line, why));
}

PresetProblem read_preset_problem(std::string_view source, const toml::node& item,
                                  std::initializer_list<std::string_view> others) {
    std::vector<std::string> keys(others.begin(), others.end());
    keys.emplace_back("shape");
    const toml::node* shape = &item;
    PresetProblem result;
    if (const toml::table* table = item.as_table()) {
        shape = table->get("shape");
        for (const auto& [key, value] : *table) {
            if (std::find(keys.begin(), keys.end(), key.str()) == keys.end()) {
                set_option(source, key.str(), value, keys, result.options);
            }
        }
    }
    if (shape == nullptr || !shape->is_string()) {
        throw bad_file(source, item.source(),
                       "a shape is text, such as \"2x1024x16x128\", or a table with that as its shape and options");
    }
    std::string fault;
    try {
        result.shape = parse_shape(shape->as_string()->get());
        for (const DataType dtype : {DataType::f32, DataType::bf16, DataType::f16}) {
            fault = fault.empty() ? fault_of(result.problem(dtype)) : fault;
        }
    } catch (const InputError& error) {
        throw InputError(fmt::format("{}, line {}: {}", source, item.source().begin.line, error.what()));
    }
    if (!fault.empty()) {
        throw bad_file(source, item.source(), fmt::format("this problem cannot be run: {}", fault));
    }
    return result;
}

}  // namespace qkprof
