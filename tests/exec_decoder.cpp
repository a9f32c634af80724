// Bytes -> messages, whole and in pieces; and what is refused.
#include "error.h"
#include "exec/decoder.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace qkprof::exec {
namespace {

std::string refusal(const std::string& bytes) {
    Decoder decoder;
    decoder.feed(bytes);
    try {
        while (decoder.next()) {
        }
    } catch (const InputError& error) {
        return error.what();
    }
    return "none";
}

TEST(ExecDecoder, MessagesComeWholeHoweverTheyAreCut) {
    const std::string bytes = encoded(MessageKind::hello, Hello{.process = 5}, "a b") +
                              encoded(MessageKind::pop, Pop{.time = 3, .range = 9}) +
                              encoded_text(MessageKind::remark, "so") + encoded_text(MessageKind::goodbye);
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
        Decoder decoder;
        std::string seen;
        for (std::size_t at = 0; at < bytes.size(); at += piece) {
            decoder.feed(std::string_view(bytes).substr(at, piece));
            while (const auto message = decoder.next()) {
                seen += std::to_string(static_cast<int>(message->kind)) + std::string(message->text) + ";";
                if (message->kind == MessageKind::pop) {
                    EXPECT_EQ(message->as<Pop>().range, 9U);
                }
            }
        }
        EXPECT_EQ(seen, "0a b;11;3so;14;") << piece;
        EXPECT_FALSE(decoder.within_message());
    }
    Decoder decoder;
    decoder.feed(std::string_view(bytes).substr(0, 20));
    EXPECT_FALSE(decoder.next());
    EXPECT_TRUE(decoder.within_message());
}

TEST(ExecDecoder, NonsenseIsRefusedWithASentence) {
    const auto changed = [](std::uint32_t bytes, std::uint16_t kind) {
        std::string message = encoded(MessageKind::pop, Pop());
        std::memcpy(message.data(), &bytes, sizeof bytes);
        std::memcpy(message.data() + sizeof bytes, &kind, sizeof kind);
        return message;
    };
    EXPECT_EQ(refusal(changed(24, 11)), "none");
    EXPECT_EQ(refusal(changed(24, 15)), "a message of the unknown kind 15");
    EXPECT_EQ(refusal(changed(23, 11)), "a message of kind 11 with 23 bytes, where 24 are expected");
    EXPECT_EQ(refusal(changed(25, 11)), "a message of kind 11 with 25 bytes, where 24 are expected");
    EXPECT_EQ(refusal(changed(0, 11)), "a message of kind 11 with 0 bytes, where 24 are expected");
    EXPECT_EQ(refusal(changed(65537, 3)), "a message of kind 3 with 65537 bytes, where 8 to 65536 are expected");
    EXPECT_EQ(refusal(encoded_text(MessageKind::remark)), "a message of kind 3 without its text");
    EXPECT_EQ(refusal(encoded(MessageKind::device, Device())), "a message of kind 4 without its text");
    EXPECT_EQ(refusal(encoded(MessageKind::name, Name())), "none");  // a range may be called nothing
}

TEST(ExecDecoder, RandomBytesAreRefusedOrWaitedFor) {
    std::mt19937 random(1);  // NOLINT(bugprone-random-generator-seed): the same in each run
    std::uniform_int_distribution<int> byte(0, std::numeric_limits<unsigned char>::max());
    int refused = 0;
    for (int i = 0; i < 2000; ++i) {
        std::string bytes(100, '\0');
        for (char& c : bytes) {
            c = static_cast<char>(byte(random));
        }
        refused += refusal(bytes) != "none" ? 1 : 0;
    }
    EXPECT_GT(refused, 1900);
}

}  // namespace
}  // namespace qkprof::exec
