#include "support.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

namespace poas_test {
namespace {

std::string new_record_file() {
  static unsigned count = 0;
  const auto file = std::string(POAS_TEST_SCRATCH "/record-") + std::to_string(getpid()) + "-" +
                    std::to_string(count++) + ".jsonl";
  std::remove(file.c_str());
  return file;
}

Environment with(Environment environment, const std::string& name, const std::string& value) {
  environment.emplace(name, value);
  return environment;
}

template <typename T>
void fill(std::vector<T>& matrix, std::size_t size, std::mt19937& random) {
  matrix.resize(size);
  for (T& one : matrix) one = static_cast<T>(static_cast<int>(random() % 7) - 3);
}

// op(M) x for M with the given number of rows; exact for the numbers used here.
template <typename T>
std::vector<double> times(const std::vector<T>& matrix, std::size_t rows, char trans,
                          const std::vector<double>& x) {
  const std::size_t columns = matrix.size() / rows;
  std::vector<double> out(trans == 'N' ? rows : columns);
  for (std::size_t j = 0; j < columns; j++)
    for (std::size_t i = 0; i < rows; i++) {
      const double value = matrix[i + j * rows];
      if (trans == 'N')
        out[i] += value * x[j];
      else
        out[j] += value * x[i];
    }
  return out;
}

template <typename T>
starpu_data_handle_t matrix_handle(std::vector<T>& matrix, std::uint64_t rows) {
  starpu_data_handle_t handle = nullptr;
  EXPECT_EQ(poas_matrix_register(&handle, STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(matrix.data()), rows,
                                 rows, matrix.size() / rows, sizeof(T)),
            0);
  return handle;
}

}  // namespace

Setting::Setting(const Environment& values) {
  for (const auto& [name, value] : values) {
    const char* old = std::getenv(name.c_str());
    before_[name] = {old != nullptr, old ? old : ""};
    if (value.empty())
      unsetenv(name.c_str());
    else
      setenv(name.c_str(), value.c_str(), 1);
  }
}

Setting::~Setting() {
  for (const auto& [name, value] : before_) {
    if (value.first)
      setenv(name.c_str(), value.second.c_str(), 1);
    else
      unsetenv(name.c_str());
  }
}

Runtime::Runtime(Environment environment, starpu_conf* conf)
    : file_(new_record_file()),
      setting_(with(std::move(environment), "POAS_RECORD", file_)),
      status_(starpu_init(conf)),
      running_(status_ == 0) {}

Runtime::~Runtime() {
  stop();
  std::remove(file_.c_str());
}

void Runtime::stop() {
  if (running_) starpu_shutdown();
  running_ = false;
}

std::vector<nlohmann::json> Runtime::records(const std::string& operation) const {
  if (running_) starpu_task_wait_for_all();
  std::vector<nlohmann::json> records;
  std::ifstream stream(file_);
  for (std::string line; std::getline(stream, line);) {
    auto record = nlohmann::json::parse(line, nullptr, false);
    EXPECT_TRUE(record.is_object()) << "not a record: " << line;
    if (record.is_object() && record.value("operation", "") == operation)
      records.push_back(std::move(record));
  }
  return records;
}

std::size_t lines_with(const std::string& text, const std::string& words) {
  std::istringstream stream(text);
  std::size_t count = 0;
  for (std::string line; std::getline(stream, line);) count += line.find(words) != std::string::npos;
  return count;
}

std::size_t units_of(const nlohmann::json& record) {
  std::set<std::string> units;
  for (const auto& block : record["timeline"]) units.insert(block["unit"]);
  return units.size();
}

testing::AssertionResult is_split(const nlohmann::json& record) {
  if (record.value("split", false) && record.value("status", -1) == 0 && units_of(record) >= 2)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "not split over two units: " << record.dump();
}

void expect_split(const Runtime& runtime, std::size_t count) {
  const auto records = runtime.records();
  ASSERT_EQ(records.size(), count);
  for (const auto& record : records) EXPECT_TRUE(is_split(record));
}

testing::AssertionResult is_whole(const nlohmann::json& record, const std::string& words) {
  if (!record.value("split", true) && record.value("reason", "").find(words) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "expected a whole task because of '" << words
                                     << "': " << record.dump();
}

template <typename T>
Product<T>::Product(const Shape& asked, unsigned seed) : shape(asked) {
  std::mt19937 random(seed);
  fill(a, shape.m * shape.k, random);
  fill(b, shape.k * shape.n, random);
  fill(c, shape.m * shape.n, random);
  old_ = c;
  ha = matrix_handle(a, shape.transa == 'N' ? shape.m : shape.k);
  hb = matrix_handle(b, shape.transb == 'N' ? shape.k : shape.n);
  hc = matrix_handle(c, shape.m);
}

template <typename T>
int Product<T>::submit() {
  return poas_gemm(shape.transa, shape.transb, shape.alpha, ha, hb, shape.beta, hc,
                   sizeof(T) == 4 ? POAS_FP32 : POAS_FP64, POAS_CLASS_DEFAULT);
}

template <typename T>
starpu_task* Product<T>::task() {
  return task(shape, ha, hb, hc);
}

template <typename T>
starpu_task* Product<T>::task(const Shape& shape, starpu_data_handle_t a, starpu_data_handle_t b,
                              starpu_data_handle_t c) {
  auto* args = static_cast<poas_gemm_args*>(std::malloc(sizeof(poas_gemm_args)));
  *args = {POAS_GEMM_VERSION, sizeof(T) == 4 ? POAS_FP32 : POAS_FP64,
           shape.transa,      shape.transb,
           shape.alpha,       shape.beta,
           POAS_CLASS_DEFAULT};
  starpu_task* task = starpu_task_create();
  task->cl = poas_gemm_codelet();
  task->cl_arg = args;
  task->cl_arg_size = sizeof *args;
  task->cl_arg_free = 1;
  task->nbuffers = 3;
  task->handles[0] = a, task->handles[1] = b, task->handles[2] = c;
  task->modes[0] = task->modes[1] = STARPU_R;
  task->modes[2] = shape.beta == 0 ? STARPU_W : STARPU_RW;
  return task;
}

template <typename T>
void Product<T>::unregister() {
  for (auto* handle : {&ha, &hb, &hc}) {
    if (*handle) starpu_data_unregister(*handle);
    *handle = nullptr;
  }
}

template <typename T>
testing::AssertionResult Product<T>::right(unsigned count) const {
  std::mt19937 random(7);
  std::vector<double> x(shape.n);
  for (double& one : x) one = random() & 0xffff;
  const auto bx = times(b, shape.transb == 'N' ? shape.k : shape.n, shape.transb, x);
  const auto abx = times(a, shape.transa == 'N' ? shape.m : shape.k, shape.transa, bx);
  const auto cx = times(c, shape.m, 'N', x), old_x = times(old_, shape.m, 'N', x);
  for (std::size_t i = 0; i < shape.m; i++) {
    double expected = old_x[i];
    for (unsigned r = 0; r < count; r++)
      expected = shape.alpha * abx[i] + (shape.beta == 0 ? 0 : shape.beta * expected);
    if (!(cx[i] == expected))
      return testing::AssertionFailure()
             << "row " << i << " of C: C x is " << cx[i] << ", not " << expected << " (m " << shape.m
             << ", n " << shape.n << ", k " << shape.k << ", " << shape.transa << shape.transb << ", alpha "
             << shape.alpha << ", beta " << shape.beta << ")";
  }
  return testing::AssertionSuccess();
}

template class Product<float>;
template class Product<double>;

}  // namespace poas_test
