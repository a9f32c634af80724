// Text against a file in tests/golden/. QKPROF_UPDATE_GOLDEN=1 makes a test write its files anew.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace qkprof {

inline void expect_golden(const std::string& name, const std::string& text) {
    const std::string path = std::string(QKPROF_TESTS_FOLDER) + "/golden/" + name;
    if (std::getenv("QKPROF_UPDATE_GOLDEN") != nullptr) {
        std::ofstream(path) << text;
    }
    std::ifstream stream(path);
    const std::string golden{std::istreambuf_iterator<char>(stream), {}};
    EXPECT_EQ(text, golden) << "If this is meant, run this test with QKPROF_UPDATE_GOLDEN=1 and review the change.";
}

}  // namespace qkprof
