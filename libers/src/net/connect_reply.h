// ConnectReply: what an HTTP proxy answers to CONNECT. No I/O.
#ifndef ERS_NET_CONNECT_REPLY_H_
#define ERS_NET_CONNECT_REPLY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ers::net {

class ConnectReply {
 public:
  enum class State : std::uint8_t {
    kHead,
    kBody,     // of a refusal
    kOpen,     // what follows is the server's
    kRefused,  // code() and why()
    kBroken,   // why(): it is no reply
  };

  // Of what comes next so many bytes are the reply's own: none of the server's
  // is among them. At least 1 in kHead and kBody.
  [[nodiscard]] std::size_t wanted() const;
  // At most so many.
  void Take(std::string_view bytes);
  // There is no more.
  void End();

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] int code() const { return code_; }
  // A sentence of printable characters, once it has ended without kOpen.
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  void OnHead();
  void Refuse();
  void Break(std::string why);

  State state_ = State::kHead;
  std::string head_;
  std::string body_;
  std::size_t body_bytes_ = 0;
  int code_ = 0;
  std::string why_;
};

}  // namespace ers::net

#endif  // ERS_NET_CONNECT_REPLY_H_
