#include "junit.h"

#include "compare_table.h"

#include <fmt/format.h>

#include <map>
#include <pugixml.hpp>
#include <sstream>

namespace qkprof {
namespace {

// Without what no XML can hold, escaped or not: control characters, bytes that are no UTF-8, U+FFFE and U+FFFF.
std::string xml_text(const std::string& text) {
    std::string held = printable(text, std::string::npos);
    for (const char* none : {"\xef\xbf\xbe", "\xef\xbf\xbf"}) {
        for (std::size_t at = held.find(none); at != std::string::npos; at = held.find(none, at)) {
            held.replace(at, 3, "\xef\xbf\xbd");  // U+FFFD: an unknown character
        }
    }
    return held;
}

void set(pugi::xml_node node, const char* attribute, const std::string& text) {
    node.append_attribute(attribute) = xml_text(text).c_str();
}

struct Tally {
    std::size_t tests = 0;
    std::size_t failures = 0;
    std::size_t skipped = 0;
};

void set(pugi::xml_node node, const Tally& tally) {
    node.append_attribute("tests") = tally.tests;
    node.append_attribute("failures") = tally.failures;
    node.append_attribute("errors") = 0;
    node.append_attribute("skipped") = tally.skipped;
}

void add_test(pugi::xml_node suite, const Difference& cell, bool strict, Tally& tally) {
    pugi::xml_node test = suite.append_child("testcase");
    set(test, "classname", cell.base->variant);
    const std::string name = cell.base->name();
    set(test, "name", fmt::format("{}: {}", name.substr(cell.base->variant.size() + 1), cell.metric));
    test.append_attribute("time") = 0;
    ++tally.tests;
    const bool fails = cell.standing == Standing::worse || (strict && undecided(cell.standing));
    if (!fails && !undecided(cell.standing)) {
        return;
    }
    ++(fails ? tally.failures : tally.skipped);
    pugi::xml_node result = test.append_child(fails ? "failure" : "skipped");
    set(result, "message", sentence_of(cell));
    if (fails) {
        set(result, "type", name_of(cell.standing));
        result.text() = xml_text(sentence_of(cell)).c_str();
    }
}

}  // namespace

std::string to_junit(const Comparison& comparison, bool strict) {
    pugi::xml_document document;
    pugi::xml_node declaration = document.append_child(pugi::node_declaration);
    declaration.append_attribute("version") = "1.0";
    declaration.append_attribute("encoding") = "UTF-8";
    pugi::xml_node root = document.append_child("testsuites");
    root.append_attribute("name") = "qkprof compare";
    std::map<std::string, std::pair<pugi::xml_node, Tally>, std::less<>> suites;
    for (const Difference& cell : comparison.differences) {
        auto& [suite, tally] = suites[cell.base->variant];
        if (!suite) {
            suite = root.append_child("testsuite");
            set(suite, "name", cell.base->variant);
        }
        add_test(suite, cell, strict, tally);
    }
    Tally all;
    for (auto& [variant, suite] : suites) {
        set(suite.first, suite.second);
        all.tests += suite.second.tests;
        all.failures += suite.second.failures;
        all.skipped += suite.second.skipped;
    }
    set(root, all);
    std::ostringstream text;
    document.save(text, "  ", pugi::format_default, pugi::encoding_utf8);
    return text.str();
}

}  // namespace qkprof
