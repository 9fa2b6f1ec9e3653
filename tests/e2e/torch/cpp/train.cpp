// SPDX-License-Identifier: Apache-2.0
//
// A C++ program that trains small networks with libtorch, one on each of two threads. Knows nothing
// of profilers; tells its losses on stdout, and in a file its threads and three moments of each
// step.
//
// usage: PROGRAM [--alone] [--steps N] [--evaluate] [--uneven] [--told FILE]
//   --alone     one thread only
//   --evaluate  looks at other data after every seventh step
//   --uneven    a number of layers that differs from step to step: nothing repeats
#include <torch/torch.h>

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Options {
  bool alone = false, evaluate = false, uneven = false;
  int steps = 40;
  std::string told;
};

struct Net : torch::nn::Module {
  explicit Net(int width) {
    in = register_module("in", torch::nn::Linear(32, width));
    middle = register_module("middle", torch::nn::Linear(width, width));
    out = register_module("out", torch::nn::Linear(width, 10));
  }
  torch::Tensor forward(torch::Tensor x, int depth) {
    x = torch::relu(in->forward(x));
    for (int i = 0; i < depth; ++i) x = torch::tanh(middle->forward(x));
    return out->forward(x);
  }
  torch::nn::Linear in{nullptr}, middle{nullptr}, out{nullptr};
};

struct Training {
  Training(int width, int batch, int steps)
      : net(std::make_shared<Net>(width)),
        samples(torch::randn({batch, 32})),
        labels(torch::randint(0, 10, {batch}, torch::kLong)),
        steps(steps) {}
  std::shared_ptr<Net> net;
  torch::Tensor samples, labels;
  int steps;
  long tid = 0;
  double loss = 0;
  std::vector<long long> moments;  // before a step, after its forward, after its update
};

long long now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

int depth_of(int step, const Options& options) {
  return options.uneven ? 1 + (step * 7919 + step * step * 31) % 11 : 1;
}

void train(Training& job, const Options& options) {
  job.tid = syscall(SYS_gettid);
  torch::optim::SGD optimizer(job.net->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  for (int step = 0; step < job.steps; ++step) {
    job.moments.push_back(now_ns());
    optimizer.zero_grad();
    torch::Tensor scores = job.net->forward(job.samples, depth_of(step, options));
    job.moments.push_back(now_ns());
    torch::Tensor loss = torch::nll_loss(torch::log_softmax(scores, 1), job.labels);
    loss.backward();
    optimizer.step();
    job.moments.push_back(now_ns());
    job.loss = loss.item<double>();
    if (!options.evaluate || step % 7 != 6) continue;
    torch::NoGradGuard guard;
    torch::sigmoid(job.net->forward(job.samples, 2)).mean().item<double>();
  }
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--alone") options.alone = true;
    if (word == "--evaluate") options.evaluate = true;
    if (word == "--uneven") options.uneven = true;
    if (word == "--steps" && i + 1 < argc) options.steps = std::stoi(argv[++i]);
    if (word == "--told" && i + 1 < argc) options.told = argv[++i];
  }
  return options;
}

bool tell(const std::vector<Training>& jobs, const std::string& path) {
  for (const Training& job : jobs) std::printf("%d steps, loss %.6f\n", job.steps, job.loss);
  if (path.empty()) return true;
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return false;
  for (const Training& job : jobs) {
    std::fprintf(file, "%ld", job.tid);
    for (long long ns : job.moments) std::fprintf(file, " %lld", ns);
    std::fprintf(file, "\n");
  }
  return std::fclose(file) == 0;
}

}  // namespace

// Returns 7, so that a status is seen to be the program's own.
extern "C" int train_main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  torch::manual_seed(1);
  at::set_num_threads(1);
  std::vector<Training> jobs;
  jobs.emplace_back(64, 16, options.steps);
  if (!options.alone) jobs.emplace_back(48, 8, options.steps / 2);
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < jobs.size(); ++i)
    threads.emplace_back([&, i] { train(jobs[i], options); });
  train(jobs[0], options);
  for (std::thread& thread : threads) thread.join();
  return tell(jobs, options.told) ? 7 : 1;
}
