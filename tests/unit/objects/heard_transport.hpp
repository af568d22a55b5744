// A Transport that keeps every byte which other nodes send to its own.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/bytes.hpp>

#include "mesh/transport.hpp"

namespace spotmesh::objects {

class HeardTransport final : public mesh::Transport, private mesh::ConnectionAcceptor {
 public:
  // Both outlive it.
  HeardTransport(mesh::Transport& inner, std::string& heard) : inner_(inner), heard_(heard) {}

  Result<std::string> listen(std::string address, mesh::ConnectionAcceptor& acceptor) override {
    acceptor_ = &acceptor;
    return inner_.listen(std::move(address), *this);
  }
  void stop_listening() override { inner_.stop_listening(); }
  void dial(std::string address, mesh::DialHandler& handler) override {
    ears_.push_back(std::make_unique<Ear>(heard_, handler, &handler));
    inner_.dial(std::move(address), *ears_.back());
  }

 private:
  // Of one connection.
  class Ear final : public mesh::DialHandler {
   public:
    Ear(std::string& heard, mesh::ConnectionHandler& inner, mesh::DialHandler* dialler)
        : heard_(heard), inner_(inner), dialler_(dialler) {}
    void on_frames(mesh::Connection& connection, std::vector<SharedBytes> frames) override {
      for (const SharedBytes& frame : frames) heard_ += as_text(frame.view());
      inner_.on_frames(connection, std::move(frames));
    }
    void on_down(mesh::Connection& connection, std::string reason) override {
      inner_.on_down(connection, std::move(reason));
    }
    void on_up(mesh::Connection& connection) override { dialler_->on_up(connection); }
    void on_dial_failed(Error error) override { dialler_->on_dial_failed(std::move(error)); }

   private:
    std::string& heard_;
    mesh::ConnectionHandler& inner_;
    mesh::DialHandler* dialler_;
  };

  mesh::ConnectionHandler& on_accept(mesh::Connection& connection) override {
    ears_.push_back(std::make_unique<Ear>(heard_, acceptor_->on_accept(connection), nullptr));
    return *ears_.back();
  }

  mesh::Transport& inner_;
  std::string& heard_;
  mesh::ConnectionAcceptor* acceptor_ = nullptr;
  std::vector<std::unique_ptr<Ear>> ears_;
};

}  // namespace spotmesh::objects
