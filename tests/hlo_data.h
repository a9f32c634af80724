// The HLO texts of tests/data/hlo, and what tests ask of promises.
#pragma once

#include "hlo/parser.h"
#include "hlo/promise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace qkprof::hlo {

inline std::string data_path(const std::string& name) { return std::string(QKPROF_TESTS_FOLDER) + "/data/hlo/" + name; }

inline std::string data_text(const std::string& name) {
    std::ifstream stream(data_path(name), std::ios::binary);
    EXPECT_TRUE(stream) << name;
    return {std::istreambuf_iterator<char>(stream), {}};
}

// A module with its promise, which points into it.
struct Promised {
    explicit Promised(const std::string& text) : module(parse_module(text, "text")), promise(promise_of(module)) {}
    Promised(const Promised&) = delete;
    Promised& operator=(const Promised&) = delete;

    const Row& row(const std::string& name) const {
        const auto found = std::find_if(promise.rows.begin(), promise.rows.end(),
                                        [&](const Row& row) { return row.instruction->name == name; });
        if (found == promise.rows.end()) {
            throw std::runtime_error("there is no instruction " + name);
        }
        return *found;
    }
    const ClassTotal& total(Class kind) const { return promise.classes.at(kind); }

    Module module;
    Promise promise;
};

inline std::string in_module(const std::string& entry, const std::string& before = "") {
    return "HloModule made_up, is_scheduled=true\n\n" + before + "ENTRY %main {\n" + entry + "}\n";
}

}  // namespace qkprof::hlo
