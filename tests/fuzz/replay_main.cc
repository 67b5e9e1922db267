// A main for fuzzers that are built without libFuzzer: feeds every file of the corpus folders given as arguments, and
// seeded mutations of them, to LLVMFuzzerTestOneInput. The inputs are the same on every run.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Input = std::vector<uint8_t>;
constexpr int kMutationsInAll = 4000;
constexpr size_t kLargestNoise = 4096;

void Feed(const Input& input) {
  // An exact heap copy, so that a sanitizer sees a read past the end.
  const std::unique_ptr<uint8_t[]> copy(new uint8_t[input.size()]);
  std::copy(input.begin(), input.end(), copy.get());
  LLVMFuzzerTestOneInput(copy.get(), input.size());
}

std::vector<Input> ReadCorpus(int count, char** folders) {
  std::vector<std::filesystem::path> paths;
  for (int i = 0; i < count; ++i) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folders[i], ignored)) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Input> corpus;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

Input Noise(std::mt19937_64& random) {
  Input noise(random() % kLargestNoise);
  for (uint8_t& byte : noise) byte = uint8_t(random());
  return noise;
}

void FlipBit(Input& input, std::mt19937_64& random) { input[random() % input.size()] ^= uint8_t(1u << (random() % 8)); }
void SetEdgeByte(Input& input, std::mt19937_64& random) {
  constexpr uint8_t kEdges[] = {0x00, 0x01, 0x7F, 0x80, 0xFF};
  input[random() % input.size()] = kEdges[random() % std::size(kEdges)];
}
void Cut(Input& input, std::mt19937_64& random) { input.resize(random() % input.size()); }
void RepeatPiece(Input& input, std::mt19937_64& random) {
  const size_t begin = random() % input.size();
  const size_t length = std::min<size_t>(1 + random() % 64, input.size() - begin);
  const Input piece(input.begin() + ptrdiff_t(begin), input.begin() + ptrdiff_t(begin + length));
  input.insert(input.begin() + ptrdiff_t(begin), piece.begin(), piece.end());
}
void ErasePiece(Input& input, std::mt19937_64& random) {
  const size_t begin = random() % input.size();
  const size_t length = std::min<size_t>(1 + random() % 16, input.size() - begin);
  input.erase(input.begin() + ptrdiff_t(begin), input.begin() + ptrdiff_t(begin + length));
}

using Mutation = void (*)(Input&, std::mt19937_64&);
constexpr Mutation kMutations[] = {FlipBit, FlipBit, SetEdgeByte, Cut, RepeatPiece, ErasePiece};

Input Mutate(Input input, std::mt19937_64& random) {
  const size_t steps = 1 + random() % 8;
  for (size_t i = 0; i < steps && !input.empty(); ++i) kMutations[random() % std::size(kMutations)](input, random);
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Input> corpus = ReadCorpus(argc - 1, argv + 1);
  corpus.emplace_back();
  for (const Input& input : corpus) Feed(input);
  std::mt19937_64 random(1);
  for (int i = 0; i < kMutationsInAll; ++i) {
    const Input& seed = corpus[random() % corpus.size()];
    Feed(seed.empty() ? Noise(random) : Mutate(seed, random));
  }
  std::printf("%zu corpus files, %d mutations: survived\n", corpus.size() - 1, kMutationsInAll);
  return 0;
}
