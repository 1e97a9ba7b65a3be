#include "admin/events.h"

#include <cstddef>
#include <nlohmann/json.hpp>

#include "jobs/job_json.h"
#include "shared/log.h"

namespace ers::proxy {

std::string EventsText(const std::vector<Event>& events) {
  nlohmann::ordered_json root;
  root["events"] = nlohmann::ordered_json::array();
  for (const Event& event : events) {
    nlohmann::ordered_json json = {
        {"id", event.id},
        {"time_ms", event.time_ms},
        {"kind", kEventKinds[static_cast<std::size_t>(event.kind)]},
        {"level", kLogLevels[static_cast<std::size_t>(event.level)]},
        {"text", event.text},
        {"asked_by", nullptr}};
    if (!event.asker.address.empty()) {
      json["asked_by"] = {{"address", event.asker.address},
                          {"agent", event.asker.agent}};
    }
    root["events"].push_back(std::move(json));
  }
  return JsonText(root);
}

}  // namespace ers::proxy
