// What tests are told: problems, and what was queued. And how they queue work of their own.
#include "pretended.h"

#include <cstdlib>

namespace pretended {

std::recursive_mutex& mutex() {
    static auto* one = new std::recursive_mutex;  // never destroyed: libraries call until the very end
    return *one;
}

static std::vector<std::string>& problems() {
    static auto* all = new std::vector<std::string>;
    return *all;
}

static std::vector<Queued>& notes() {
    static auto* all = new std::vector<Queued>;
    return *all;
}

static cudaError_t last_error = cudaSuccess;

void note(const char* kind, const std::string& name, cudaStream_t stream) {
    notes().push_back({kind, name, stream_of(stream)->id});
}
void problem(const std::string& what) { problems().push_back(what); }

cudaError_t failed(cudaError_t error) {
    if (error != cudaSuccess) last_error = error;
    return error;
}

static cudaError_t fault = cudaSuccess;
cudaError_t well() { return failed(fault); }

size_t setting(const char* name, size_t otherwise) {
    const char* text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace pretended

using namespace pretended;

EXPORTED int pretended_problem_count() { return (int)problems().size(); }
EXPORTED const char* pretended_problem(int place) { return problems()[place].c_str(); }
EXPORTED void pretended_add_problem(const char* what) { LOCKED; problem(what); }
EXPORTED void pretended_forget_problems() { problems().clear(); }

EXPORTED long pretended_note_count() { return (long)notes().size(); }
EXPORTED const char* pretended_note_kind(long place) { return notes()[place].kind.c_str(); }
EXPORTED const char* pretended_note_name(long place) { return notes()[place].name.c_str(); }
EXPORTED int pretended_note_stream(long place) { return notes()[place].stream; }
EXPORTED void pretended_forget_notes() { notes().clear(); }

EXPORTED void pretended_queue(void* stream, const char* what, void (*work)(long), long argument) {
    LOCKED;
    queue((cudaStream_t)stream, what, [work, argument] { work(argument); });
}

// What is queued now ends in that error of CUDA's, such as 700, an illegal access, once it runs.
EXPORTED void pretended_fault(int error) {
    LOCKED;
    queue(nullptr, "fault", [=] { fault = (cudaError_t)error; });
}

EXPORTED cudaError_t cudaGetLastError() {
    auto error = last_error;
    last_error = cudaSuccess;
    return error;
}
EXPORTED cudaError_t cudaPeekAtLastError() { return last_error; }
