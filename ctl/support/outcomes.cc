#include "ctl/support/outcomes.h"

#include <fmt/format.h>

#include "ctl/support/key_text.h"
#include "shared/plain_text.h"

namespace ers::ctl {
namespace {

// Where servers are out they may be millions.
constexpr std::size_t kMaxNamed = 100;

}  // namespace

Status WhyFailed(Client& client, const std::string& key, const Status& status) {
  if (status.code() != StatusCode::kNotFound) return status;
  const Result<ObjectDetail> shown = client.Stat(key);
  if (shown) return {StatusCode::kCorruption, status.message()};
  // Where it cannot be known, it does not count as gone.
  const StatusCode code = shown.error().code();
  const bool gone =
      code == StatusCode::kNotFound || code == StatusCode::kNotManaged;
  return gone ? status : shown.error();
}

void Outcomes::Add(const std::string& key, const Status& status,
                   bool named_by_user) {
  ++selected;
  if (status.ok()) {
    ++done;
    return;
  }
  const StatusCode code = status.code();
  if (code == StatusCode::kAlreadyThere) {
    ++already;
    return;
  }
  if (code == StatusCode::kNotFound) {
    ++gone;
    if (!named_by_user) return;
  } else if (code == StatusCode::kTooLarge) {
    ++too_large;
  } else {
    ++failed;
  }
  if (named.size() < kMaxNamed) named.push_back({key, status});
  if (ExitCodeOf(code) > ExitCodeOf(worst.code())) worst = status;
}

Json Outcomes::ErrorsJson() const {
  Json errors = Json::array();
  for (const Refused& refused : named) {
    Json error = KeyJson(refused.key);
    error["code"] = StatusCodeName(refused.status.code());
    error["message"] = refused.status.message();
    errors.push_back(error);
  }
  return errors;
}

std::string Outcomes::ErrorsText() const {
  std::string text;
  for (const Refused& refused : named) {
    text += fmt::format("{}: {}\n", KeyText(refused.key),
                        OneLine(refused.status.message()));
  }
  return text;
}

Ending Outcomes::End(const Status& printed, std::string_view done_word) const {
  if (!printed.ok()) return {printed, true};
  if (worst.ok()) return Status();
  return Status(worst.code(),
                fmt::format("{} of {} not {}; {}", selected - done - already,
                            proxy::CountIsText(selected, "object"), done_word,
                            worst.message()));
}

}  // namespace ers::ctl
