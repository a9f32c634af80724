#include "date.h"

#include <fmt/format.h>

#include <array>
#include <ctime>
#include <string_view>

namespace qkprof {

std::string date_now() {
    const std::time_t seconds = std::time(nullptr);
    std::tm local = {};
    localtime_r(&seconds, &local);
    std::array<char, 32> text = {};
    std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S%z", &local);
    const std::string_view date = text.data();
    const std::size_t minutes = date.size() - 2;  // +0100 -> +01:00
    return fmt::format("{}:{}", date.substr(0, minutes), date.substr(minutes));
}

}  // namespace qkprof
