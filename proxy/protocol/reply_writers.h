// The writers of the three dialects behind reply.h.
#ifndef ERS_PROXY_PROTOCOL_REPLY_WRITERS_H_
#define ERS_PROXY_PROTOCOL_REPLY_WRITERS_H_

#include <string>
#include <string_view>

#include "protocol/reply.h"

namespace ers::proxy {

void AppendTextReply(const ClientRequest& request, const Reply& reply,
                     std::string& out);
void AppendMetaReply(const ClientRequest& request, const Reply& reply,
                     std::string& out);
void AppendBinaryReply(const ClientRequest& request, const Reply& reply,
                       std::string& out);

void AppendTextValueHeader(const ClientRequest& request, const ItemInfo& item,
                           std::string& out);
void AppendMetaValueHeader(const ClientRequest& request, const ItemInfo& item,
                           std::string& out);
void AppendBinaryValueHeader(const ClientRequest& request, const ItemInfo& item,
                             std::string& out);

// The error line, shared by text and meta.
void AppendErrorLine(const ClientRequest& request, const Reply& reply,
                     std::string& out);

}  // namespace ers::proxy

#endif  // ERS_PROXY_PROTOCOL_REPLY_WRITERS_H_
