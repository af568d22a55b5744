#include <spotmesh/testing/fault.hpp>

namespace spotmesh::testing {

namespace {

constexpr Duration early = std::chrono::seconds(10);

}  // namespace

// Shared with what is planned, which may come when the fault is gone.
struct Fault::Life {
  bool has_ended = false;
};

Fault::~Fault() {
  if (life_) life_->has_ended = true;
}

void Fault::begin(Cluster& cluster, Chance& chance) {
  cluster_ = &cluster;
  chance_ = &chance;
  life_ = std::make_shared<Life>();
  begun_ = cluster.elapsed();
  plan_strike();
}

void Fault::end() {
  life_->has_ended = true;
  mend(*cluster_);
}

void Fault::after(Duration pause, std::function<void()> step) {
  cluster_->after(pause, [life = life_, step = std::move(step)] {
    if (!life->has_ended) step();
  });
}

void Fault::plan_strike() {
  after(chance_->between(rhythm_.shortest_pause, rhythm_.longest_pause), [this] {
    if (strike(*cluster_, *chance_)) {
      ++strikes_;
      if (cluster_->elapsed() - begun_ < early) ++early_strikes_;
    }
    after(chance_->between(rhythm_.shortest_strike, rhythm_.longest_strike), [this] {
      mend(*cluster_);
      plan_strike();
    });
  });
}

}  // namespace spotmesh::testing
