// SilenceProbe: does a server that is silent on one connection answer on
// another?
#ifndef ERS_NET_SILENCE_PROBE_H_
#define ERS_NET_SILENCE_PROBE_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/patient_timer.h"
#include "net/runtime.h"

namespace ers::net {

// A connection for one question, the server's version. Any byte will do as the
// answer: what it says is the link's business. Loop thread only.
class SilenceProbe final : private StreamHandler {
 public:
  // `end` is called once, from the loop: has anything come within `patience`?
  // It may destroy the probe. `runtime` outlives it.
  SilenceProbe(Runtime& runtime, const Endpoint& endpoint, Duration patience,
               std::function<void(bool answered)> end);

 private:
  void OnConnected() override;
  void OnReadable() override;
  void OnWritable() override;
  void OnFailed(const std::string& reason) override;
  void Write();
  void End(bool answered);

  std::function<void(bool)> end_;
  PatientTimer timer_;
  std::unique_ptr<Stream> stream_;
  std::string_view unsent_ = "version\r\n";
};

}  // namespace ers::net

#endif  // ERS_NET_SILENCE_PROBE_H_
