// SPDX-License-Identifier: Apache-2.0
// Natural joins over packed rows, variables in the order of the smallest table.
#include "plan/buckets.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <utility>

namespace stowage::plan {
namespace {

using Row = Factor::Row;

/// log2 of dense over sparse table sizes, at most: beyond it a join is not worth the attempt.
constexpr double kSparsity = 5;
/// Neighbours of a variable that are still kept track of.
constexpr std::size_t kWidest = 128;

/// Moves the states of some variables from one packing to another.
class Repack {
 public:
  void add(int from, int to, int bits) {
    if (bits == 0) return;
    if (!parts_.empty()) {  // neighbours in both packings move as one
      Part& last = parts_.back();
      if (last.from + last.bits == from && last.to + last.bits == to) {
        last.bits += bits;
        return;
      }
    }
    parts_.push_back({from, to, bits});
  }

  std::uint64_t operator()(std::uint64_t at) const {
    std::uint64_t out = 0;
    for (const Part& p : parts_) out |= (at >> p.from & mask(p.bits)) << p.to;
    return out;
  }

 private:
  struct Part {
    int from, to, bits;
  };

  static std::uint64_t mask(int bits) { return ~std::uint64_t{0} >> (64 - bits); }

  std::vector<Part> parts_;
};

/// Rows of a factor that agree on some bits, found by those bits.
class Groups {
 public:
  Groups(const std::vector<Row>& rows, const Repack& common, int bits) : direct_(bits <= 16) {
    keys_.resize(rows.size());
    order_.resize(rows.size());
    for (std::uint32_t i = 0; i < rows.size(); ++i) keys_[i] = common(rows[i].at);
    if (direct_) {
      starts_.assign((std::size_t{1} << bits) + 1, 0);
      for (std::uint64_t k : keys_) ++starts_[k + 1];
      for (std::size_t k = 1; k < starts_.size(); ++k) starts_[k] += starts_[k - 1];
      std::vector<std::uint32_t> next(starts_.begin(), starts_.end() - 1);
      for (std::uint32_t i = 0; i < rows.size(); ++i) order_[next[keys_[i]]++] = i;
    } else {
      for (std::uint32_t i = 0; i < rows.size(); ++i) order_[i] = i;
      std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
        return keys_[a] != keys_[b] ? keys_[a] < keys_[b] : a < b;
      });
      std::sort(keys_.begin(), keys_.end());
    }
  }

  std::span<const std::uint32_t> find(std::uint64_t key) const {
    std::size_t begin, end;
    if (direct_) {
      begin = starts_[key], end = starts_[key + 1];
    } else {
      const auto range = std::equal_range(keys_.begin(), keys_.end(), key);
      begin = range.first - keys_.begin(), end = range.second - keys_.begin();
    }
    return {order_.data() + begin, end - begin};
  }

 private:
  bool direct_;
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint32_t> order_, starts_;
};

/// For each variable the variables it shares a table with, eliminated in the order of the smallest
/// dense table. Ties go to the lower variable.
struct Order {
  std::vector<int> variables;
  double log2_largest = 0;
};

Order elimination_order(const std::vector<int>& domain, const std::vector<Factor>& factors) {
  const int n = static_cast<int>(domain.size());
  std::vector<std::vector<int>> near(n);
  for (const Factor& f : factors) {
    for (int a : f.scope) {
      for (int b : f.scope) {
        if (a != b) near[a].push_back(b);
      }
    }
  }
  std::vector<std::int64_t> log_size(n), weight(n);
  for (int v = 0; v < n; ++v) {
    std::sort(near[v].begin(), near[v].end());
    near[v].erase(std::unique(near[v].begin(), near[v].end()), near[v].end());
    log_size[v] = std::llround(std::log2(domain[v]) * 1024);
  }
  std::set<std::pair<std::int64_t, int>> queue;
  const auto enqueue = [&](int v) {
    weight[v] = log_size[v];
    for (int u : near[v]) weight[v] += log_size[u];
    queue.insert({weight[v], v});
  };
  for (int v = 0; v < n; ++v) enqueue(v);
  Order order;
  std::vector<int> merged;
  while (!queue.empty()) {
    const auto [log_table, v] = *queue.begin();
    queue.erase(queue.begin());
    order.variables.push_back(v);
    order.log2_largest = std::max(order.log2_largest, static_cast<double>(log_table) / 1024);
    // Nothing that wide becomes one table, and ordering it on takes cubic time.
    const bool hopeless = near[v].size() > kWidest;
    for (int u : near[v]) {
      queue.erase({weight[u], u});
      merged.clear();
      if (hopeless) {
        merged = near[u];
      } else {
        std::set_union(near[u].begin(), near[u].end(), near[v].begin(), near[v].end(),
                       std::back_inserter(merged));
      }
      std::erase_if(merged, [u = u, v = v](int w) { return w == u || w == v; });
      near[u] = merged;
      enqueue(u);
    }
  }
  return order;
}

class Elimination {
 public:
  Elimination(const std::vector<int>& domain, std::vector<Factor> factors,
              const BucketLimits& limits)
      : domain_(domain), factors_(std::move(factors)), limits_(limits) {
    for (int d : domain_) bits_.push_back(state_bits(d));
  }

  BucketResult run() {
    const auto [order, log2_largest] = elimination_order(domain_, factors_);
    if (!limits_.split && log2_largest > std::log2(limits_.rows) + kSparsity) return result_;
    position_.resize(domain_.size());
    for (int i = 0; i < static_cast<int>(order.size()); ++i) position_[order[i]] = i;
    buckets_.resize(domain_.size());
    result_.exact = true;
    const std::size_t given = factors_.size();
    for (std::size_t f = 0; f < given; ++f) file(static_cast<int>(f));
    for (int v : order) {
      if (!empty_bucket(v)) return result_;
    }
    result_.done = true;
    result_.states.assign(domain_.size(), 0);
    for (auto v = order.rbegin(); v != order.rend(); ++v) decide(*v);
    return result_;
  }

 private:
  /// Into the bucket of the variable that goes first.
  void file(int f) {
    const Factor& factor = factors_[f];
    if (factor.scope.empty()) {
      result_.bound = result_.bound + (factor.rows.empty() ? kInfinite : factor.rows[0].key);
      result_.bound.cost = std::min(result_.bound.cost, kInfinite.cost);
      return;
    }
    const int v = *std::min_element(factor.scope.begin(), factor.scope.end(),
                                    [&](int a, int b) { return position_[a] < position_[b]; });
    buckets_[v].push_back(f);
  }

  bool empty_bucket(int v) {
    if (buckets_[v].empty()) return true;
    std::vector<int> rest = buckets_[v];
    Factor joined;
    bool open = false;
    const auto close = [&] {
      factors_.push_back(without(std::move(joined), v));
      file(static_cast<int>(factors_.size()) - 1);
    };
    while (!rest.empty()) {
      const auto next = open ? best_partner(joined, rest) : smallest(rest);
      const Factor& partner = factors_[*next];
      if (!open) {
        joined = partner;
        open = true;
      } else if (Factor out; join(joined, partner, out)) {
        joined = std::move(out);
      } else if (!limits_.split) {
        return false;
      } else {
        result_.exact = false;
        Factor copy = partner;
        close();
        joined = std::move(copy);
      }
      rest.erase(next);
    }
    close();
    return true;
  }

  std::vector<int>::iterator smallest(std::vector<int>& list) const {
    return std::min_element(list.begin(), list.end(), [&](int a, int b) {
      return factors_[a].rows.size() < factors_[b].rows.size();
    });
  }

  /// The factor that adds the fewest bits, then the smallest.
  std::vector<int>::iterator best_partner(const Factor& joined, std::vector<int>& list) const {
    const auto new_bits = [&](int f) {
      int bits = 0;
      for (int v : factors_[f].scope) {
        if (std::find(joined.scope.begin(), joined.scope.end(), v) == joined.scope.end()) {
          bits += bits_[v];
        }
      }
      return bits;
    };
    auto best = list.begin();
    std::pair<int, std::size_t> best_rank{std::numeric_limits<int>::max(), 0};
    for (auto it = list.begin(); it != list.end(); ++it) {
      const std::pair rank{new_bits(*it), factors_[*it].rows.size()};
      if (rank < best_rank) best = it, best_rank = rank;
    }
    return best;
  }

  /// False when the result exceeds a limit.
  bool join(const Factor& a, const Factor& b, Factor& out) {
    out.scope = a.scope;
    int a_bits = 0;
    for (int v : a.scope) a_bits += bits_[v];
    Repack a_common, b_common, b_new;
    int common_bits = 0, total_bits = a_bits, b_from = 0;
    for (int v : b.scope) {
      int a_from = 0;
      const auto in_a = std::find(a.scope.begin(), a.scope.end(), v);
      for (auto it = a.scope.begin(); it != in_a; ++it) a_from += bits_[*it];
      if (in_a != a.scope.end()) {
        a_common.add(a_from, common_bits, bits_[v]);
        b_common.add(b_from, common_bits, bits_[v]);
        common_bits += bits_[v];
      } else {
        if (total_bits + bits_[v] > 64) return false;
        b_new.add(b_from, total_bits, bits_[v]);
        total_bits += bits_[v];
        out.scope.push_back(v);
      }
      b_from += bits_[v];
    }
    const Groups groups(b.rows, b_common, common_bits);
    std::size_t count = 0;
    for (const Row& row : a.rows) count += groups.find(a_common(row.at)).size();
    if (count > limits_.rows) return false;
    result_.work += a.rows.size() + b.rows.size() + count;
    if (result_.work > limits_.work && !limits_.split) return false;
    result_.largest = std::max(result_.largest, count);
    std::vector<std::uint64_t> extra(b.rows.size());
    for (std::size_t i = 0; i < b.rows.size(); ++i) extra[i] = b_new(b.rows[i].at);
    out.rows.reserve(count);
    for (const Row& row : a.rows) {
      for (std::uint32_t i : groups.find(a_common(row.at))) {
        const Key key = row.key + b.rows[i].key;
        if (!(limits_.ceiling < key)) out.rows.push_back({row.at | extra[i], key});
      }
    }
    return true;
  }

  /// The minimum over the states of v.
  Factor without(Factor f, int v) const {
    Factor out;
    Repack keep;
    int from = 0, to = 0;
    for (int u : f.scope) {
      if (u != v) {
        keep.add(from, to, bits_[u]);
        to += bits_[u];
        out.scope.push_back(u);
      }
      from += bits_[u];
    }
    if (to <= 24 && std::size_t{1} << to <= 4 * f.rows.size() + 1024) {
      std::vector<Key> best(std::size_t{1} << to, kInfinite);
      for (const Row& row : f.rows) {
        Key& slot = best[keep(row.at)];
        slot = std::min(slot, row.key);
      }
      for (std::size_t at = 0; at < best.size(); ++at) {
        if (best[at] < kInfinite) out.rows.push_back({at, best[at]});
      }
      return out;
    }
    for (Row& row : f.rows) row.at = keep(row.at);
    std::sort(f.rows.begin(), f.rows.end(), [](const Row& a, const Row& b) {
      return a.at != b.at ? a.at < b.at : a.key < b.key;
    });
    for (const Row& row : f.rows) {
      if (out.rows.empty() || out.rows.back().at != row.at) out.rows.push_back(row);
    }
    return out;
  }

  /// The best state of v, given the states of all variables eliminated later.
  void decide(int v) {
    Key best = kInfinite;
    for (int s = 0; s < domain_[v]; ++s) {
      Key sum;
      for (int f : buckets_[v]) {
        const Factor& factor = factors_[f];
        std::uint64_t at = 0;
        int shift = 0;
        for (int u : factor.scope) {
          const auto state = static_cast<std::uint64_t>(u == v ? s : result_.states[u]);
          if (bits_[u] > 0) at |= state << shift;
          shift += bits_[u];
        }
        const auto row = std::lower_bound(factor.rows.begin(), factor.rows.end(), at,
                                          [](const Row& r, std::uint64_t x) { return r.at < x; });
        sum = row != factor.rows.end() && row->at == at ? sum + row->key : kInfinite;
        if (!(sum < kInfinite)) break;
      }
      if (sum < best) best = sum, result_.states[v] = s;
    }
  }

  const std::vector<int>& domain_;
  std::vector<Factor> factors_;
  const BucketLimits limits_;
  std::vector<int> bits_, position_;
  std::vector<std::vector<int>> buckets_;  // the factors decided by each variable
  BucketResult result_;
};

}  // namespace

int state_bits(int domain) { return std::bit_width(static_cast<unsigned>(domain) - 1); }

BucketResult eliminate(const std::vector<int>& domain, std::vector<Factor> factors,
                       const BucketLimits& limits) {
  return Elimination(domain, std::move(factors), limits).run();
}

}  // namespace stowage::plan
