// What the admin port reads and writes: HTTP/1.1 as text, without sockets.
#ifndef ERS_PROXY_ADMIN_HTTP_H_
#define ERS_PROXY_ADMIN_HTTP_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ers::proxy {

// Longer ones are refused.
inline constexpr std::size_t kMaxHttpHead = 8 << 10;
inline constexpr std::size_t kMaxHttpBody = 64 << 10;

struct HttpRequest {
  std::string method;  // as it was sent
  std::string path;    // without what follows a '?', not decoded
  std::string body;
  std::string content_type;
  bool has_origin = false;  // a browser sent it

  std::size_t content_length = 0;
  bool keeps_open = true;  // the client takes further replies
  bool waits = false;      // for a word before it sends the body
};

struct HttpReply {
  int code = 200;
  std::string body;
  std::string allow;  // of a 405: what is allowed
  std::string type = "application/json";
};

// {"error": message}
HttpReply HttpError(int code, std::string_view message);

// How much of `input` the empty line and all before it takes. Empty: more is to
// come. A line may end without its CR.
std::optional<std::size_t> HttpHeadLength(std::string_view input);

// The refusal of what begins with another line than HTTP's, before its head is
// there: who speaks another protocol sends no empty line.
std::optional<HttpReply> RefuseHttpLine(std::string_view input);

// Reads a head into a fresh `request`, all but the body. What it answers is the
// refusal of a request that cannot be understood, nor what follows it.
std::optional<HttpReply> ParseHttpHead(std::string_view head,
                                       HttpRequest& request);

// The reply's bytes; `head_only` for HEAD.
std::string HttpReplyText(const HttpReply& reply, bool keeps_open,
                          bool head_only);

}  // namespace ers::proxy

#endif  // ERS_PROXY_ADMIN_HTTP_H_
