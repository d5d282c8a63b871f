"""What of the shell's environment reaches a measurement, and its record."""

import pytest

from respeed.machine.software import library_name, telling_environment
from respeed.measure.worker import child_environment
from tests.measure.test_turn import FOREIGN


@pytest.mark.parametrize(
    "name",
    [
        "NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION", "CUBLAS_WORKSPACE_CONFIG", "CUBLASLT_WORKSPACE_SIZE",
        "CUDNN_LOGINFO_DBG", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF",
        "CUDA_LAUNCH_BLOCKING", "CUDA_DEVICE_MAX_CONNECTIONS", "HIPBLASLT_ALLOW_TF32", "AMD_SERIALIZE_KERNEL",
        "ONEDNN_DEFAULT_FPMATH_MODE", "PYTORCH_MPS_FAST_MATH", "ATEN_CPU_CAPABILITY", "JAX_ENABLE_X64", "XLA_FLAGS",
        "XLA_PYTHON_CLIENT_ALLOCATOR", "TF_GPU_ALLOCATOR", "TF_XLA_FLAGS", "LIBTPU_INIT_ARGS", "PJRT_NPROC", "NPROC",
    ],
)  # fmt: skip
def test_what_the_shell_says_about_an_accelerators_arithmetic_does_not_reach_the_measurement(name: str) -> None:
    assert name not in child_environment(1, {name: "1"})


@pytest.mark.parametrize(
    "name",
    [
        "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK",
        "TPU_VISIBLE_CHIPS", "TPU_CHIPS_PER_PROCESS_BOUNDS",
    ],
)  # fmt: skip
def test_which_device_is_meant_reaches_the_measurement_and_its_record(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "1")
    assert child_environment(1, {name: "1"})[name] == telling_environment()[name] == "1"


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("LD_PRELOAD", "/home/anna/lib/libx.so", "libx.so"),
        ("LD_PRELOAD", "/home/anna=b/libx.so:~anna/liby.so  ../anna/libz.so libm.so.6",
         "libx.so:liby.so  libz.so libm.so.6"),
        ("DYLD_INSERT_LIBRARIES", "/Users/Anna B/libx.dylib:/liby.dylib", "libx.dylib:liby.dylib"),
        ("LD_PRELOAD", "anna/libx.so", "libx.so"),
        ("CUDA_VISIBLE_DEVICES", "MIG-GPU-1a/1/0,2", "MIG-GPU-1a/1/0,2"),
    ],
)  # fmt: skip
def test_of_files_with_their_folders_a_record_tells_the_names(
    name: str, value: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert telling_environment()[name] == told


def test_a_record_tells_no_folder_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_HOME", "/home/anna/cuda")
    monkeypatch.setenv("TRITON_CACHE_DIR", "/home/anna/kept")
    monkeypatch.setenv("TPU_LIBRARY_PATH", "/home/anna/libtpu.so")
    assert not [value for value in telling_environment().values() if "anna" in value]
    assert child_environment(1)["TRITON_CACHE_DIR"] == "/home/anna/kept"


@pytest.mark.parametrize(
    "name",
    [
        "TPU_NAME", "TPU_WORKER_HOSTNAMES", "TPU_PROCESS_ADDRESSES", "TPU_MESH_CONTROLLER_ADDRESS", "NCCL_HOSTID",
        "NCCL_SOCKET_IFNAME", "NCCL_COMM_ID", "GLOO_SOCKET_IFNAME", "HSA_TOOLS_LIB", "OMP_AFFINITY_FORMAT",
        "NVIDIA_VISIBLE_DEVICES_OF", "CUDA_MPS_PIPE_DIRECTORY", "JAX_COORDINATOR_ADDRESS", "KMP_ANYTHING",
    ],
)  # fmt: skip
def test_a_record_tells_no_name_of_a_machine_a_network_or_a_folder(name: str) -> None:
    assert telling_environment({name: "anna-7:8476", "OMP_NUM_THREADS": "1"}) == {"OMP_NUM_THREADS": "1"}


def test_a_library_is_told_by_its_name_and_the_wheel_that_it_is_of() -> None:
    assert (
        library_name("/home/anna/lib/libx.so") == library_name("anna/libx.so") == library_name("libx.so") == "libx.so"
    )
    assert library_name("/venv/site-packages/numpy.libs/libopenblas.so") == "numpy.libs/libopenblas.so"


def test_of_a_foreign_environment_only_places_reach_the_measuring_process() -> None:
    places = {"NUMBA_CACHE_DIR": "/cache", "LD_PRELOAD": "lib.so", "PATH": "/bin"}
    found = child_environment(2, FOREIGN | places)
    assert found.items() >= places.items()
    assert found["VECLIB_MAXIMUM_THREADS"] == "2"  # another word than the others have
    assert {name: found[name] for name in FOREIGN if name in found} == {
        "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "NUMBA_NUM_THREADS": "2",
        "MKL_DYNAMIC": "FALSE", "LC_ALL": "POSIX",
    }  # fmt: skip


def test_no_program_comes_from_a_folder_in_which_jax_keeps_what_it_compiled() -> None:
    assert "JAX_COMPILATION_CACHE_DIR" not in child_environment(1, {"JAX_COMPILATION_CACHE_DIR": "/shared"})
