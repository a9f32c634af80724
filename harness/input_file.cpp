#include "input_file.h"

#include "error.h"

#include <fmt/format.h>

#include <fstream>

namespace qkprof {

std::string read_input_file(const std::filesystem::path& path, const char* what, std::uintmax_t largest) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status)) {
        throw InputError(fmt::format("There is no {} {}.", what, path.string()));
    }
    if (!std::filesystem::is_regular_file(status)) {
        throw InputError(fmt::format("{} is not a file, as a {} must be.", path.string(), what));
    }
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (!error && size > largest) {
        throw InputError(
            fmt::format("{} has {} bytes and a {} at most {}: it is not read.", path.string(), size, what, largest));
    }
    std::ifstream stream(path, std::ios::binary);
    std::string text(stream && !error ? size : 0, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!stream || error) {
        throw InputError(fmt::format("The {} {} cannot be read.", what, path.string()));
    }
    return text;
}

}  // namespace qkprof
