// Reads a file that the user named, which may be anything.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace qkprof {

// All of it. Throws InputError where it is not there, is no regular file (a folder, a FIFO, a device), has more than
// `largest` bytes or cannot be read; `what` it is to be, as "profile", is for the sentence.
std::string read_input_file(const std::filesystem::path& path, const char* what, std::uintmax_t largest);

}  // namespace qkprof
