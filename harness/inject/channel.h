// The library's end of the connection to `qkprof exec`: what any thread sends, in the order in which it is sent. Opened
// by the first message; where nobody listens, or nobody reads any more, all of it is nothing.
#pragma once

#include "../exec/protocol.h"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace qkprof::inject {

// A socket in a process whose program knows nothing of it, and may close it or give its number to a file of its own.
class Descriptor {
  public:
    Descriptor() = default;
    // Takes it over, under a number that programs seldom use.
    explicit Descriptor(int number);

    int number() const { return number_; }
    // Whether the number is still this one's.
    bool is_own() const;
    // Closes it if it is.
    void close();

  private:
    int number_ = -1;
    dev_t device_ = 0;
    ino_t file_ = 0;
};

class Channel {
  public:
    // Of this process; never destroyed, since threads may send until the very end.
    static Channel& instance();

    // Holds the channel for several messages, which then stand together.
    class Sending {
      public:
        explicit Sending(Channel& channel) : channel_(channel), lock_(channel.mutex_) {}

        template <class Message>
        void send(exec::MessageKind kind, const Message& message, std::string_view text = {}) {
            static_assert(std::is_trivially_copyable_v<Message> && !std::is_convertible_v<Message, std::string_view>);
            channel_.append(kind, &message, sizeof message, text);
        }
        void send_text(exec::MessageKind kind, std::string_view text) { channel_.append(kind, nullptr, 0, text); }
        // The number of a name, which is told when it is new.
        std::uint32_t name(std::string_view text);
        // Writes all that was sent, whatever it is.
        void flush() { channel_.write_pending(); }

      private:
        Channel& channel_;
        std::lock_guard<std::mutex> lock_;
    };

    // Whether this is the process that the connection belongs to: not in the child of a vfork.
    bool is_own() const;
    // How often this process came out of a fork.
    int generation() const { return generation_; }

  private:
    Channel();
    void append(exec::MessageKind kind, const void* message, std::size_t bytes, std::string_view text);
    void open();
    void say_hello();
    void write_pending();
    // In the child of a fork: what the parent sent and held is the parent's.
    void forget();
    void give_up();

    enum class State : std::uint8_t { not_yet, open, closed };

    std::mutex mutex_;
    State state_ = State::not_yet;
    Descriptor descriptor_;
    int process_ = 0;
    int generation_ = 0;
    std::vector<char> pending_;
    std::unordered_map<std::string, std::uint32_t> names_;
};

// Now, in nanoseconds of CLOCK_REALTIME.
std::uint64_t now();

// Of the calling thread.
std::uint32_t thread_number();

}  // namespace qkprof::inject
