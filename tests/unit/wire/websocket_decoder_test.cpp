#include "wire/websocket_decoder.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "websocket_test_frames.hpp"

using namespace spotmesh;
using namespace spotmesh::wire;
using namespace spotmesh::wire::test;

namespace {

struct Case {
  std::string claim;
  Bytes input;
  Transcript expected;
  WebSocketDecoderOptions options{.max_message_bytes = 70'000, .max_message_fragments = 4};
};

WebSocketDecoderOptions as_client() {
  return {.role = WebSocketRole::Client, .max_message_bytes = 70'000};
}

Case fault(std::string claim, Bytes input, std::string line) {
  return {.claim = std::move(claim), .input = std::move(input), .expected = {std::move(line)}};
}

// Every case comes out the same however the bytes are cut.
void check_all(const std::vector<Case>& cases) {
  std::mt19937_64 random(20'450'707);
  for (const Case& one : cases) {
    INFO(one.claim);
    CHECK(feed_whole(one.options, one.input) == one.expected);
    CHECK(feed_in_bytes(one.options, one.input) == one.expected);
    for (int round = 0; round < 8; ++round) {
      REQUIRE(feed_in_pieces(one.options, one.input, random) == one.expected);
    }
  }
}

std::string text_of(std::size_t length) { return std::string(length, 'x'); }

std::string close_payload(unsigned code, std::string_view reason = {}) {
  std::string payload{static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
  return payload += reason;
}

}  // namespace

TEST_CASE("the examples of RFC 6455 section 5.7 decode") {
  const std::string bytes_256(256, '\0');
  check_all({
      {"unmasked text", hex("81 05 48 65 6c 6c 6f"), {"text Hello"}, as_client()},
      {"masked text", hex("81 85 37 fa 21 3d 7f 9f 4d 51 58"), {"text Hello"}},
      {"fragmented text", hex("01 03 48 65 6c 80 02 6c 6f"), {"text Hello"}, as_client()},
      {"unmasked ping", hex("89 05 48 65 6c 6c 6f"), {"ping Hello"}, as_client()},
      {"masked pong", hex("8a 85 37 fa 21 3d 7f 9f 4d 51 58"), {"pong Hello"}},
      {"256 bytes in one frame", server(0x82, bytes_256), {"binary " + bytes_256}, as_client()},
      {"64 KiB in one frame",
       server(0x82, text_of(65536)),
       {"binary " + text_of(65536)},
       as_client()},
  });
}

TEST_CASE("messages of every length form arrive whole") {
  std::vector<Case> cases;
  for (const std::size_t length : {0, 1, 7, 8, 9, 125, 126, 127, 128, 1024, 65535, 65536, 70'000}) {
    const std::string body = text_of(length);
    cases.push_back(
        {"client text of " + std::to_string(length), client(0x81, body), {"text " + body}});
    cases.push_back({"server binary of " + std::to_string(length),
                     server(0x82, body),
                     {"binary " + body},
                     as_client()});
  }
  check_all(cases);
}

TEST_CASE("fragments join, with control frames in between") {
  check_all({
      {"text in three fragments",
       join({client(0x01, "one "), client(0x00, "two "), client(0x80, "three")}),
       {"text one two three"}},
      {"empty fragments",
       join({client(0x02, ""), client(0x00, ""), client(0x80, "")}),
       {"binary "}},
      {"control frames inside a fragmented message",
       join({client(0x01, "a"), client(0x89, "p"), client(0x00, "b"), client(0x8a, "q"),
             client(0x80, "c")}),
       {"ping p", "pong q", "text abc"}},
      {"close inside a fragmented message",
       join({client(0x01, "a"), client(0x88, close_payload(1000, "bye")), client(0x80, "c")}),
       {"close 1000 bye"}},
      {"a character cut by a fragment",
       join({client(0x01, "\xe2\x82"), client(0x80, "\xac")}),
       {"text \xe2\x82\xac"}},
      {"messages in one read keep their order",
       join({client(0x81, "1"), client(0x82, "2"), client(0x89, ""), client(0x81, "3")}),
       {"text 1", "binary 2", "ping ", "text 3"}},
      {"an unmasked fragmented message",
       join({server(0x01, "un"), server(0x80, "masked")}),
       {"text unmasked"},
       as_client()},
      {"a whole unmasked message, then a fragmented one",
       join({server(0x82, "whole"), server(0x02, "in "), server(0x80, "two"), server(0x82, "")}),
       {"binary whole", "binary in two", "binary "},
       as_client()},
      {"the first fragments of a message are no event",
       join({client(0x01, "a"), client(0x00, "b")}),
       {}},
  });
}

TEST_CASE("a frame that breaks RFC 6455 is refused with its reason") {
  const std::string reserved =
      "failed 1002 reserved bit in a frame header: no extension was negotiated";
  const std::string too_long = "failed 1002 a control frame carries at most 125 bytes";
  const std::string in_fragments = "failed 1002 a control frame must not be fragmented";
  std::vector<Case> cases{
      fault("first reserved bit", client(0xc1, "x"), reserved),
      fault("second reserved bit", client(0xa1, "x"), reserved),
      fault("third reserved bit", client(0x91, "x"), reserved),
      fault("reserved bit on a control frame", client(0xc9, "x"), reserved),
      fault("unmasked client frame", server(0x81, "x"),
            "failed 1002 a client's frame must be masked"),
      {"masked server frame",
       client(0x81, "x"),
       {"failed 1002 a server's frame must not be masked"},
       as_client()},
      fault("fragmented ping", client(0x09, "x"), in_fragments),
      fault("fragmented close", client(0x08, ""), in_fragments),
      fault("ping of 126 bytes", client(0x89, text_of(126)), too_long),
      fault("close of 126 bytes", client(0x88, close_payload(1000) + text_of(124)), too_long),
      fault("pong of 65536 bytes", client(0x8a, text_of(65536)), too_long),
      fault("continuation without a start", client(0x80, "x"),
            "failed 1002 continuation frame without a message to continue"),
      {"continuation after a finished message",
       join({client(0x81, "x"), client(0x80, "y")}),
       {"text x", "failed 1002 continuation frame without a message to continue"}},
      fault("new message inside a fragmented one", join({client(0x01, "x"), client(0x81, "y")}),
            "failed 1002 new message before the fragmented one has ended"),
  };
  for (const unsigned opcode : {3, 4, 5, 6, 7, 11, 12, 13, 14, 15}) {
    cases.push_back(fault(
        "opcode " + std::to_string(opcode), client(static_cast<std::uint8_t>(0x80 | opcode), "x"),
        "failed 1002 frame opcode " + std::to_string(opcode) + " is not defined"));
  }
  check_all(cases);
}

TEST_CASE("a length that is not in its shortest form is refused") {
  check_all({
      fault("125 in two bytes", hex("82 fe 00 7d"),
            "failed 1002 frame length 125 is not in its shortest form"),
      fault("0 in two bytes", hex("82 fe 00 00"),
            "failed 1002 frame length 0 is not in its shortest form"),
      fault("65535 in eight bytes", hex("82 ff 00 00 00 00 00 00 ff ff"),
            "failed 1002 frame length 65535 is not in its shortest form"),
      fault("highest bit set", hex("82 ff 80 00 00 00 00 00 00 00"),
            "failed 1002 the highest bit of a frame length must be 0"),
      fault("all bits set", hex("82 ff ff ff ff ff ff ff ff ff"),
            "failed 1002 the highest bit of a frame length must be 0"),
  });
}

TEST_CASE("a message over the limit is refused by its header, naming size and limit") {
  const std::string four_gibibytes =
      "failed 1009 message of 4294967295 bytes is over the limit of 70000 bytes";
  check_all({
      fault("a claim of ff ff ff ff", hex("82 ff 00 00 00 00 ff ff ff ff"), four_gibibytes),
      fault("the largest claim there is", hex("82 ff 7f ff ff ff ff ff ff ff"),
            "failed 1009 message of 9223372036854775807 bytes is over the limit of 70000 bytes"),
      fault("one byte over", hex("81 ff 00 00 00 00 00 01 11 71"),
            "failed 1009 message of 70001 bytes is over the limit of 70000 bytes"),
      fault("over it in the second fragment",
            join({client(0x01, text_of(40'000)), client(0x80, text_of(30'001))}),
            "failed 1009 message of 70001 bytes is over the limit of 70000 bytes"),
      fault("over it in a fragment that is not the last",
            join({client(0x01, text_of(40'000)), client(0x00, text_of(30'001))}),
            "failed 1009 message of 70001 or more bytes is over the limit of 70000 bytes"),
      {"just at it, in fragments",
       join({client(0x01, text_of(40'000)), client(0x80, text_of(30'000))}),
       {"text " + text_of(70'000)}},
  });
}

TEST_CASE("empty fragments without end are refused at their bound") {
  check_all({
      {"four fragments",
       join({client(0x01, "a"), client(0x00, ""), client(0x00, ""), client(0x80, "b")}),
       {"text ab"}},
      fault("five fragments",
            join({client(0x01, ""), client(0x00, ""), client(0x00, ""), client(0x00, ""),
                  client(0x00, "")}),
            "failed 1008 message in more than 4 fragments"),
  });
}

TEST_CASE("text that is not UTF-8 is refused at the bad byte") {
  check_all({
      fault("a byte that starts nothing", client(0x81, "abc\xff"),
            "failed 1007 text message is not UTF-8 at byte 3"),
      fault("an overlong slash", client(0x81, "\xc0\xaf"),
            "failed 1007 text message is not UTF-8 at byte 0"),
      fault("a surrogate in the second fragment",
            join({client(0x01, "0123456789"), client(0x80, "\xed\xa0\x80")}),
            "failed 1007 text message is not UTF-8 at byte 11"),
      fault("before the message has ended", join({client(0x01, "\xf4\x90"), client(0x80, "")}),
            "failed 1007 text message is not UTF-8 at byte 1"),
      fault("a character left open", client(0x81, "\xe2\x82"),
            "failed 1007 text message ends inside a UTF-8 character"),
      {"unmasked text is checked as well",
       server(0x81, "\x80"),
       {"failed 1007 text message is not UTF-8 at byte 0"},
       as_client()},
      {"the place is counted from the start of its own message",
       join({client(0x81, "first"), client(0x81, "ab\xff")}),
       {"text first", "failed 1007 text message is not UTF-8 at byte 2"}},
      {"binary may hold anything", client(0x82, "\xff\xfe"), {"binary \xff\xfe"}},
      {"a control payload may hold anything", client(0x89, "\xff"), {"ping \xff"}},
  });
}

TEST_CASE("a close frame carries a code that may be sent and a reason in UTF-8") {
  std::vector<Case> cases{
      {"no code", client(0x88, ""), {"close 1005 "}},
      {"nothing follows a close",
       join({client(0x88, close_payload(1000)), client(0x81, "x")}),
       {"close 1000 "}},
      {"the longest reason",
       client(0x88, close_payload(1001, text_of(123))),
       {"close 1001 " + text_of(123)}},
      fault("half a code", client(0x88, "\x03"),
            "failed 1002 a close frame of one byte has no whole close code"),
      fault("a reason that is not UTF-8", client(0x88, close_payload(1000, "\xed\xa0\x80")),
            "failed 1007 the reason in a close frame is not UTF-8"),
  };
  for (const unsigned code : {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013,
                              1014, 3000, 3999, 4000, 4999}) {
    cases.push_back({"code " + std::to_string(code),
                     client(0x88, close_payload(code, "r")),
                     {"close " + std::to_string(code) + " r"}});
  }
  for (const unsigned code :
       {0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535}) {
    cases.push_back(fault("code " + std::to_string(code), client(0x88, close_payload(code, "r")),
                          "failed 1002 close code " + std::to_string(code) + " must not be sent"));
  }
  check_all(cases);
}

TEST_CASE("nothing is decoded after a fault") {
  const Bytes input = join({client(0x83, ""), client(0x81, "x"), client(0x88, "")});
  CHECK(feed_whole({}, input) == Transcript{"failed 1002 frame opcode 3 is not defined"});
  WebSocketDecoder decoder({});
  ByteView rest = input;
  CHECK(decoder.next(rest).kind == WebSocketEvent::Kind::Failed);
  CHECK(rest.empty());
  CHECK_FALSE(decoder.has_partial_message());
}

TEST_CASE("a claim of length reserves nothing before its bytes have arrived") {
  WebSocketDecoder decoder({.max_message_bytes = std::size_t{1} << 40});
  const Bytes header = hex("82 ff 00 00 00 ff ff ff ff ff 00 00 00 00");
  ByteView input = header;
  CHECK(decoder.next(input).kind == WebSocketEvent::Kind::NeedMoreBytes);
  CHECK(decoder.buffered_capacity_bytes() == 0);
  const Bytes some(1000);
  input = some;
  CHECK(decoder.next(input).kind == WebSocketEvent::Kind::NeedMoreBytes);
  CHECK(decoder.buffered_capacity_bytes() <= 2 * some.size());
}

TEST_CASE("a long message's memory goes back once it was taken") {
  WebSocketDecoder decoder({});
  const Bytes frame = client(0x82, text_of(60'000));
  ByteView input = frame;
  CHECK(decoder.next(input).payload.size() == 60'000);
  CHECK(decoder.next(input).kind == WebSocketEvent::Kind::NeedMoreBytes);
  CHECK(decoder.buffered_capacity_bytes() == 0);
}

TEST_CASE("an unmasked message that arrived whole is not copied") {
  WebSocketDecoder decoder(as_client());
  const Bytes frame = server(0x82, text_of(100));
  ByteView input = frame;
  const WebSocketEvent event = decoder.next(input);
  CHECK(event.payload.data() == frame.data() + 2);
  CHECK(decoder.buffered_capacity_bytes() == 0);
}

TEST_CASE("the caller may stop between two messages of one read") {
  WebSocketDecoder decoder({});
  const Bytes frames = join({client(0x81, "first"), client(0x81, "second")});
  ByteView input = frames;
  CHECK(as_text(decoder.next(input).payload) == "first");
  const Bytes kept(input.begin(), input.end());
  CHECK(kept == client(0x81, "second"));
  input = kept;
  CHECK(as_text(decoder.next(input).payload) == "second");
  CHECK(input.empty());
}

TEST_CASE("a decoder knows when a message has begun and not ended") {
  WebSocketDecoder decoder({});
  const auto feed = [&decoder](Bytes bytes) {
    ByteView input = bytes;
    while (decoder.next(input).kind != WebSocketEvent::Kind::NeedMoreBytes) {
    }
    return decoder.has_partial_message();
  };
  CHECK_FALSE(feed({}));
  CHECK(feed(hex("01")));                    // half a header
  CHECK(feed(hex("81 00 00 00 00 61")));     // a fragment, but not the last
  CHECK(feed(client(0x89, "")));             // a ping ends nothing
  CHECK_FALSE(feed(client(0x80, "")));       // the last fragment
  CHECK(feed(hex("81 82 00 00 00 00 61")));  // half a payload
  CHECK_FALSE(feed(hex("62")));
}
