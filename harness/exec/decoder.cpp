#include "decoder.h"

#include "error.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>

namespace qkprof::exec {
namespace {

enum class Text : std::uint8_t { none, any, some };
struct Layout {
    std::size_t body;
    Text text;
};
// By kind.
constexpr std::array layouts = {Layout{sizeof(Hello), Text::any},
                                Layout{sizeof(Attached), Text::any},
                                Layout{0, Text::some},
                                Layout{0, Text::some},
                                Layout{sizeof(Device), Text::some},
                                Layout{sizeof(Name), Text::any},
                                Layout{sizeof(Kernel), Text::none},
                                Layout{sizeof(Transfer), Text::none},
                                Layout{sizeof(Submission), Text::none},
                                Layout{sizeof(Cancelled), Text::none},
                                Layout{sizeof(Push), Text::none},
                                Layout{sizeof(Pop), Text::none},
                                Layout{sizeof(Dropped), Text::none},
                                Layout{sizeof(Flushed), Text::none},
                                Layout{0, Text::none}};
static_assert(layouts.size() == static_cast<std::size_t>(MessageKind::goodbye) + 1);

// Throws InputError where the header is of no message.
const Layout& checked(const Header& header) {
    const auto kind = static_cast<std::size_t>(header.kind);
    if (kind >= layouts.size()) {
        throw InputError(fmt::format("a message of the unknown kind {}", kind));
    }
    const Layout& layout = layouts.at(kind);
    const std::size_t least = sizeof(Header) + layout.body;
    if (header.bytes < least || header.bytes > most_message_bytes ||
        (layout.text == Text::none && header.bytes != least)) {
        throw InputError(fmt::format("a message of kind {} with {} bytes, where {}{} are expected", kind, header.bytes,
                                     least,
                                     layout.text == Text::none ? "" : fmt::format(" to {}", most_message_bytes)));
    }
    if (layout.text == Text::some && header.bytes == least) {
        throw InputError(fmt::format("a message of kind {} without its text", kind));
    }
    return layout;
}

}  // namespace

void Decoder::feed(std::string_view bytes) {
    bytes_.erase(0, at_);
    at_ = 0;
    bytes_.append(bytes);
}

std::optional<Message> Decoder::next() {
    const std::string_view rest = std::string_view(bytes_).substr(at_);
    Header header;
    if (rest.size() < sizeof header) {
        return {};
    }
    std::memcpy(&header, rest.data(), sizeof header);
    const Layout& layout = checked(header);
    if (rest.size() < header.bytes) {
        return {};
    }
    at_ += header.bytes;
    return Message{.kind = header.kind,
                   .body = rest.substr(sizeof header, layout.body),
                   .text = rest.substr(sizeof header + layout.body, header.bytes - sizeof header - layout.body)};
}

}  // namespace qkprof::exec
