// Bytes of a connection -> messages (protocol.h). What is no message is refused: the other end may be anything.
#pragma once

#include "protocol.h"

#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace qkprof::exec {

struct Message {
    MessageKind kind = MessageKind::hello;
    std::string_view body;  // the bytes of the kind's struct
    std::string_view text;

    // The struct of the kind; its type is the caller's to know.
    template <class T>
    T as() const {
        T value;
        std::memcpy(&value, body.data(), sizeof value);
        return value;
    }
};

class Decoder {
  public:
    void feed(std::string_view bytes);
    // The next whole message, which is valid until the next feed; none where more bytes are needed. Throws InputError
    // for what is no message, and then never gives one again.
    std::optional<Message> next();
    // Whether a message has begun and not ended.
    bool within_message() const { return at_ < bytes_.size(); }

  private:
    std::string bytes_;
    std::size_t at_ = 0;  // what is before it was given
};

// A struct and a text as the bytes of a message: what the other end does, for those who make messages up.
template <class T>
std::string encoded(MessageKind kind, const T& body, std::string_view text = {}) {
    Header header;
    header.bytes = static_cast<std::uint32_t>(sizeof header + sizeof body + text.size());
    header.kind = kind;
    std::string bytes(sizeof header + sizeof body, '\0');
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, &body, sizeof body);
    return bytes.append(text);
}
// Of a kind that has no struct.
inline std::string encoded_text(MessageKind kind, std::string_view text = {}) {
    Header header;
    header.bytes = static_cast<std::uint32_t>(sizeof header + text.size());
    header.kind = kind;
    std::string bytes(sizeof header, '\0');
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes.append(text);
}

}  // namespace qkprof::exec
