#include "admin/http.h"

#include <nlohmann/json.hpp>

#include "jobs/job_json.h"

namespace ers::proxy {

HttpReply HttpError(int code, std::string_view message,
                    std::string_view status) {
  nlohmann::ordered_json root;
  root["error"] = message;
  if (!status.empty()) root["code"] = status;
  HttpReply reply;
  reply.code = code;
  reply.body = JsonText(root);
  return reply;
}

}  // namespace ers::proxy
