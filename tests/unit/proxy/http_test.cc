// Heads of requests to the admin port.
#include "admin/http.h"

#include <catch2/catch.hpp>
#include <string>
#include <string_view>

namespace ers::proxy {
namespace {

HttpRequest Parsed(std::string_view head) {
  HttpRequest request;
  const std::optional<HttpReply> refusal = ParseHttpHead(head, request);
  INFO(head);
  CHECK_FALSE(refusal.has_value());
  return request;
}

int Refusal(std::string_view head) {
  HttpRequest request;
  const std::optional<HttpReply> refusal = ParseHttpHead(head, request);
  INFO(head);
  REQUIRE(refusal.has_value());
  CHECK(refusal->body.starts_with(R"({"error":")"));
  return refusal->code;
}

TEST_CASE("a head ends with the first empty line, wherever it is cut") {
  const std::string head = GENERATE(
      "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\nHost: x\n\n",
      "GET / HTTP/1.1\r\n\r\n", "\r\n\r\nGET / HTTP/1.1\r\n\r\n");
  for (std::size_t cut = 0; cut < head.size(); ++cut) {
    CHECK_FALSE(HttpHeadLength(head.substr(0, cut)).has_value());
  }
  CHECK(HttpHeadLength(head + "GET /second HTTP/1.1\r\n\r\n") == head.size());
  CHECK(Parsed(head).path == "/");
}

TEST_CASE("what a head says is read") {
  const HttpRequest request = Parsed(
      "POST /v1/jobs?x=/y HTTP/1.1\r\nHost: x\r\ncontent-LENGTH:  17 \r\n"
      "Content-Type:application/json; charset=utf-8\r\nExpect: 100-Continue\r\n"
      "Content-Length: 17\r\nOrigin: http://elsewhere\r\n\r\n");
  CHECK(request.method == "POST");
  CHECK(request.path == "/v1/jobs");
  CHECK(request.content_length == 17);
  CHECK(request.content_type == "application/json; charset=utf-8");
  CHECK(request.has_origin);
  CHECK(request.waits);
  CHECK(request.keeps_open);
  CHECK(Parsed("GET http://host:1/status?x HTTP/1.1\r\n\r\n").path ==
        "/status");
  CHECK(Parsed("GET http://host:1 HTTP/1.1\r\n\r\n").path.empty());
  CHECK(Parsed("OPTIONS * HTTP/1.1\r\n\r\n").path == "*");
}

TEST_CASE("a connection is kept open as the client asks") {
  CHECK(Parsed("GET / HTTP/1.1\r\n\r\n").keeps_open);
  CHECK_FALSE(Parsed("GET / HTTP/1.0\r\n\r\n").keeps_open);
  CHECK(Parsed("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").keeps_open);
  CHECK_FALSE(
      Parsed("GET / HTTP/1.1\r\nConnection: TE , Close\r\n\r\n").keeps_open);
}

TEST_CASE("what cannot be understood is refused") {
  for (const char* head :
       {"\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n",
        "G(T / HTTP/1.1\r\n\r\n", "version\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\r\nName : value\r\n\r\n",
        "GET / HTTP/1.1\r\nA: b\r\n folded: c\r\n\r\n",
        "GET / HTTP/1.1\r\n: value\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length:\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 5, 5\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"}) {
    CHECK(Refusal(head) == 400);
  }
  CHECK(Refusal("GET / HTTP/2.0\r\n\r\n") == 505);
  CHECK(Refusal("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n") ==
        411);
  CHECK(Parsed("POST / HTTP/1.1\r\nContent-Length: 65536\r\n\r\n")
            .content_length == kMaxHttpBody);
  for (const char* length : {"65537", "99999999999999999999999"}) {
    CHECK(Refusal(std::string("PUT / HTTP/1.1\r\nContent-Length: ") + length +
                  "\r\n\r\n") == 413);
  }
}

TEST_CASE("another protocol is known by its first line") {
  CHECK_FALSE(RefuseHttpLine("").has_value());
  CHECK_FALSE(RefuseHttpLine("\r\n\r\nversion").has_value());
  CHECK(RefuseHttpLine("\r\nversion\r\n").has_value());
  CHECK_FALSE(RefuseHttpLine("GET / HTTP/1.1\r\nversion").has_value());
}

TEST_CASE("a reply has its length, and no body for HEAD") {
  HttpReply reply = HttpError(405, "no \xff");
  reply.allow = "GET, HEAD";
  const std::string text = HttpReplyText(reply, true, false);
  CHECK(text.starts_with("HTTP/1.1 405 Method Not Allowed\r\nDate: "));
  CHECK(text.find(" GMT\r\nContent-Type: application/json\r\n"
                  "Content-Length: 19\r\n") != std::string::npos);
  CHECK(text.find("Connection: keep-alive\r\nAllow: GET, HEAD\r\n\r\n") !=
        std::string::npos);
  CHECK(text.ends_with("\r\n\r\n{\"error\":\"no \xef\xbf\xbd\"}\n"));
  const std::string head = HttpReplyText(reply, false, true);
  CHECK(head.find("Content-Length: 19\r\n") != std::string::npos);
  CHECK(head.find("Connection: close\r\n") != std::string::npos);
  CHECK(head.ends_with("\r\n\r\n"));
}

}  // namespace
}  // namespace ers::proxy
