#include <spotmesh/testing/fault.hpp>

namespace spotmesh::testing {

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
  plan_strike();
}

void Fault::end() {
  life_->has_ended = true;
  mend(*cluster_);
}

void Fault::plan_strike() {
  const Duration pause = chance_->between(rhythm_.shortest_pause, rhythm_.longest_pause);
  cluster_->after(pause, [this, life = life_] {
    if (life->has_ended) return;
    strike(*cluster_, *chance_);
    const Duration lasts = chance_->between(rhythm_.shortest_strike, rhythm_.longest_strike);
    cluster_->after(lasts, [this, life] {
      if (life->has_ended) return;
      mend(*cluster_);
      plan_strike();
    });
  });
}

}  // namespace spotmesh::testing
