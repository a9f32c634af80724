#include "parser.h"

#include "input_file.h"
#include "links.h"
#include "scanner.h"
#include "shape_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_map>

namespace qkprof::hlo {
namespace {

constexpr std::array<std::string_view, 4> sections = {"FileNames", "FunctionNames", "FileLocations", "StackFrames"};

// The attributes that name computations.
constexpr std::array<std::string_view, 11> calling = {"calls",
                                                      "to_apply",
                                                      "body",
                                                      "condition",
                                                      "true_computation",
                                                      "false_computation",
                                                      "branch_computations",
                                                      "select",
                                                      "called_computations",
                                                      "scatter",
                                                      "comparator"};

using Places = std::unordered_map<std::string, std::size_t>;  // of the instructions of a computation

class Parser {
  public:
    Parser(std::string_view text, const std::string& source) : scan_(text, source) {}

    Module parse() {
        header();
        for (scan_.skip_blank(); !scan_.at_end(); scan_.skip_blank()) {
            if (!section()) {
                computation();
            }
        }
        link(module_, scan_);
        return std::move(module_);
    }

  private:
    void header() {
        scan_.skip_blank();
        module_.is_excerpt = !scan_.take("HloModule");
        if (module_.is_excerpt) {
            return;
        }
        scan_.skip_in_line();
        module_.name = scan_.word();
        if (module_.name.empty()) {
            scan_.fail(fmt::format("the module has no name: {} stands there", scan_.here()));
        }
        for (scan_.skip_in_line(); scan_.take(','); scan_.skip_in_line()) {
            scan_.skip_in_line();
            const std::string key(scan_.word());
            if (key.empty()) {
                break;  // a comma at the end of the line
            }
            scan_.expect('=', "an attribute of the module");
            module_.attributes[key] = scan_.until(",\n", "an attribute of the module");
        }
    }

    // Where the instructions are from, which nothing here asks.
    bool section() {
        const std::size_t start = scan_.at();
        const std::string_view word = scan_.word();
        scan_.skip_in_line();
        const bool alone = scan_.at_end() || scan_.peek() == '\n';
        if (!alone || std::find(sections.begin(), sections.end(), word) == sections.end()) {
            scan_.back_to(start);
            return false;
        }
        for (scan_.skip_blank(); std::isdigit(static_cast<unsigned char>(scan_.peek())) != 0; scan_.skip_blank()) {
            scan_.skip_line();
        }
        return true;
    }

    void computation() {
        Computation computation;
        scan_.skip_blank();
        std::string_view word = name();
        if (word == "ENTRY") {
            computation.entry = true;
            scan_.skip_blank();
            word = name();
        }
        if (word.empty()) {
            scan_.fail(fmt::format("a computation is expected where {} stands", scan_.here()));
        }
        computation.name = word;
        scan_.skip_blank();
        const char* what = "the head of a computation";
        if (scan_.take('(')) {
            scan_.until(")", what);
            scan_.expect(')', what);
            scan_.skip_blank();
            if (!scan_.take("->")) {
                scan_.fail(fmt::format("in {}, '->' is expected where {} stands", what, scan_.here()));
            }
            parse_shape(scan_);
            scan_.skip_blank();
        }
        skip_attributes();
        scan_.expect('{', what);
        instructions(computation);
        scan_.skip_in_line();
        skip_attributes();
        module_.computations.push_back(std::move(computation));
    }

    void skip_attributes() {
        while (scan_.take(',')) {
            scan_.skip_in_line();
            scan_.word();
            scan_.expect('=', "an attribute of a computation");
            scan_.until(", \n", "an attribute of a computation");
            scan_.skip_blank();
        }
    }

    void instructions(Computation& computation) {
        Places places;
        bool has_root = false;
        for (scan_.skip_blank(); !scan_.take('}'); scan_.skip_blank()) {
            if (scan_.at_end()) {
                scan_.fail(
                    fmt::format("the computation {} is not closed with }}: the text is cut short", computation.name));
            }
            if (++count_ > most_instructions) {
                scan_.fail(fmt::format("there are more than {} instructions: it is not read", most_instructions));
            }
            const std::size_t start = scan_.at();
            const bool root = scan_.take("ROOT") && scan_.peek() != '=' && scan_.word().empty();
            if (!root) {
                scan_.back_to(start);
            }
            if (root && has_root) {
                scan_.fail(fmt::format("the computation {} has a second ROOT", computation.name));
            }
            has_root = has_root || root;
            Instruction instruction = this->instruction(computation, places);
            if (!places.emplace(instruction.name, computation.instructions.size()).second) {
                scan_.fail_at(instruction.line, fmt::format("the computation {} defines {} a second time",
                                                            computation.name, instruction.name));
            }
            computation.root = root || !has_root ? computation.instructions.size() : computation.root;
            computation.instructions.push_back(std::move(instruction));
        }
        if (computation.instructions.empty()) {
            scan_.fail(fmt::format("the computation {} has no instruction", computation.name));
        }
    }

    Instruction instruction(Computation& computation, Places& places) {
        Instruction instruction;
        scan_.skip_blank();
        instruction.line = scan_.line();
        instruction.name = name();
        if (instruction.name.empty()) {
            scan_.fail(fmt::format("an instruction is expected where {} stands", scan_.here()));
        }
        scan_.skip_in_line();
        scan_.expect('=', "an instruction");
        instruction.shape = parse_shape(scan_);
        scan_.skip_blank();
        instruction.opcode = scan_.word();
        if (instruction.opcode.empty()) {
            scan_.fail(
                fmt::format("the instruction {} has no operation: {} stands there", instruction.name, scan_.here()));
        }
        scan_.skip_in_line();
        scan_.expect('(', "an instruction, after its operation");
        if (instruction.opcode == "constant" || instruction.opcode == "parameter") {
            instruction.literal = scan_.until(")", "a literal");
        } else {
            operands(instruction, computation, places);
        }
        scan_.expect(')', "an instruction, after its operands");
        attributes(instruction);
        return instruction;
    }

    void operands(Instruction& instruction, Computation& computation, Places& places) {
        for (scan_.skip_blank(); scan_.peek() != ')'; scan_.skip_blank()) {
            const std::size_t start = scan_.at();
            std::string operand(name());
            scan_.skip_blank();
            if (std::string_view(",)#").find(scan_.peek()) == std::string_view::npos) {  // its shape stands before it
                scan_.back_to(start);
                parse_shape(scan_);
                scan_.skip_blank();
                operand = name();
                scan_.skip_blank();
            }
            const auto found = places.find(operand);
            if (found == places.end()) {
                scan_.fail(
                    operand.empty()
                        ? fmt::format("an operand of {} is expected where {} stands", instruction.name, scan_.here())
                        : fmt::format("{} takes {}, which no earlier instruction of its computation defines",
                                      instruction.name, operand));
            }
            std::size_t place = found->second;
            while (scan_.take('#')) {
                place = element(computation, places, place, scan_.number("the element of a tuple"));
                scan_.skip_blank();
            }
            instruction.operands.push_back(place);
            if (!scan_.take(',') && scan_.peek() != ')') {
                scan_.fail(fmt::format("',' or ')' is expected after an operand of {} where {} stands",
                                       instruction.name, scan_.here()));
            }
        }
    }

    // "%tuple#1", as dumps write what is a get-tuple-element elsewhere: the place of one, which is added.
    std::size_t element(Computation& computation, Places& places, std::size_t tuple, long long number) {
        const Instruction& of = computation.instructions[tuple];
        if (number < 0 || number >= static_cast<long long>(of.shape.parts.size())) {
            scan_.fail(fmt::format("{} has no element {}", of.name, number));
        }
        const auto [place, added] =
            places.emplace(fmt::format("{}#{}", of.name, number), computation.instructions.size());
        if (added) {
            Instruction part;
            part.name = place->first;
            part.opcode = "get-tuple-element";
            part.shape = of.shape.parts[static_cast<std::size_t>(number)];
            part.operands = {tuple};
            part.attributes.emplace_back("index", std::to_string(number));
            part.line = of.line;
            computation.instructions.push_back(std::move(part));
        }
        return place->second;
    }

    // key=value, without blanks around the sign: "name = shape" is the next instruction.
    void attributes(Instruction& instruction) {
        for (;;) {
            const std::size_t end = scan_.at();
            scan_.skip_in_line();
            if (!scan_.take(',')) {
                scan_.back_to(end);
                return;
            }
            scan_.skip_blank();
            const std::size_t start = scan_.at();
            const std::string key(scan_.word());
            if (key.empty() || scan_.peek() != '=') {
                scan_.back_to(start);  // a comma too many
                return;
            }
            scan_.take('=');
            keep(instruction, key, scan_.until(",\n}", "an attribute of an instruction"));
        }
    }

    static void keep(Instruction& instruction, const std::string& key, std::string_view value) {
        value = value.substr(0, value.find_last_not_of(" \t\r") + 1);
        if (key == "metadata") {
            constexpr std::string_view op_name = "op_name=\"";
            if (const std::size_t found = value.find(op_name); found != std::string_view::npos) {
                const std::string_view rest = value.substr(found + op_name.size());
                instruction.op_name = rest.substr(0, rest.find('"'));
            }
            return;
        }
        if (std::find(calling.begin(), calling.end(), key) != calling.end()) {
            for (const std::string& called : names_in(value)) {
                instruction.called.push_back({.role = key, .name = called});
            }
        }
        instruction.attributes.emplace_back(key, value);
    }

    std::string_view name() {
        scan_.take('%');
        return scan_.word();
    }

    Scanner scan_;
    Module module_;
    std::size_t count_ = 0;
};

}  // namespace

Module parse_module(std::string_view text, const std::string& source) { return Parser(text, source).parse(); }

Module read_module(const std::filesystem::path& path) {
    return parse_module(read_input_file(path, "HLO file", largest_text), path.string());
}

}  // namespace qkprof::hlo
