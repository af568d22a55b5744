// Reading requests with Beast. Inside this module only: it shows Beast.
#pragma once

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstddef>

#include "net/http_message.hpp"

namespace spotmesh::net {

using RequestParser = boost::beast::http::request_parser<boost::beast::http::empty_body>;

// What a parser that has read a whole head found.
RequestHead head_of(const RequestParser& parser);

// The answer to what the parser refused.
TextResponse refusal_of(const boost::system::error_code& error, std::size_t head_limit);

}  // namespace spotmesh::net
