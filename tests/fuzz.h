// What the fuzzers share. Each hands arbitrary bytes to readers, in LLVMFuzzerTestOneInput: they may refuse them with
// an InputError and nothing else. Where libFuzzer is not linked (QKPROF_FUZZ is off) the program replays files instead.
#pragma once

#include "error.h"
#include "frameworks.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace qkprof {

inline void expect(bool holds, std::string_view what) {
    if (!holds) {
        std::fprintf(stderr, "not so: %.*s\n", static_cast<int>(what.size()), what.data());
        std::abort();
    }
}

// Some for the readers that look names up.
inline const std::vector<std::string> some_variants = [] {
    std::vector<std::string> names = {"copy",
                                      "naive_primitives",
                                      "naive_three_kernel",
                                      "split_two_kernel",
                                      "fused_best",
                                      "fused_best/programmatic:0",
                                      "fused_register",
                                      "fused_tile_bulk",
                                      "fused_rotate_shared",
                                      "fused_table_shared",
                                      "fused_tile_shared",
                                      "fused_register_paired",
                                      "cache_aware_reuse",
                                      "cache_aware_persist",
                                      "cache_aware_stream"};
    for (const Framework& framework : frameworks()) {
        names.emplace_back(framework.name);
    }
    return names;
}();

// What is refused is refused in one line that a terminal can show.
inline void expect_sentence(const std::string& text) {
    expect(text.size() > 1 && text.size() <= longest_sentence + 3, "an error is a sentence: " + text);
    expect(printable(text, std::string::npos) == text, "an error is printable: " + text);
}

// What `read` returns; nothing where it refuses.
template <class Read>
auto read_or_refused(const Read& read) -> std::optional<decltype(read())> {
    try {
        return read();
    } catch (const InputError& error) {
        expect_sentence(error.what());
        return {};
    }
}

// Hands over every file of the folder; how many there are.
inline int replay(const std::filesystem::path& folder) {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        std::ifstream stream(entry.path(), std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
        expect(!stream.bad(), "a file can be read: " + entry.path().string());
        std::fprintf(stderr, "%s\n", entry.path().c_str());  // the last one is that of a failure
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
        ++files;
    }
    return files;
}

}  // namespace qkprof

#ifndef QKPROF_FUZZ
// NOLINTNEXTLINE(misc-definitions-in-headers): each fuzzer is one file, which is all of its program
int main(int argc, char** argv) {
    int files = 0;
    for (int i = 1; i < argc; ++i) {
        files += qkprof::replay(argv[i]);
    }
    std::printf("%d files\n", files);
    return files > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
#endif
