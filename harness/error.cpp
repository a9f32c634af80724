#include "error.h"

#include <fmt/format.h>

namespace qkprof {
namespace {

// Bytes of the character that the text begins with; 0 where it is a control character or no UTF-8 (also one that is
// written longer than it need be, a surrogate, or beyond U+10FFFF).
std::size_t character_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
    const unsigned first = byte(0);
    const unsigned second = byte(1);
    if (first < 0x80U) {
        return first >= 0x20U && first != 0x7fU ? 1 : 0;
    }
    if (first >= 0xc2U && first <= 0xdfU) {
        const bool control = first == 0xc2U && second < 0xa0U;  // U+0080 to U+009F
        return follows(1) && !control ? 2 : 0;
    }
    if ((first & 0xf0U) == 0xe0U) {
        const bool longer = first == 0xe0U && second < 0xa0U;
        const bool surrogate = first == 0xedU && second >= 0xa0U;
        return follows(1) && follows(2) && !longer && !surrogate ? 3 : 0;
    }
    if (first >= 0xf0U && first <= 0xf4U) {
        const bool longer = first == 0xf0U && second < 0x90U;
        const bool beyond = first == 0xf4U && second >= 0x90U;
        return follows(1) && follows(2) && follows(3) && !longer && !beyond ? 4 : 0;
    }
    return 0;
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
    std::string line;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = character_length(text.substr(at));
        const std::string shown = length > 0 ? std::string(text.substr(at, length))
                                             : fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
        if (line.size() + shown.size() > most) {
            return line + "...";
        }
        line += shown;
        at += length > 0 ? length : 1;
    }
    return line;
}

InputError::InputError(std::string_view sentence) : std::runtime_error(printable(sentence, longest_sentence)) {}

}  // namespace qkprof
