"""What of the shell's environment reaches a measurement, and its record."""

import pytest

from respeed.machine.process import child_environment, telling_environment
from respeed.machine.software import library_name
from tests.measure.test_turn import FOREIGN

# What the shell says of an accelerator's arithmetic and memory, of clusters, and of where JAX keeps whole programs.
KEPT_OUT = """
    NVIDIA_TF32_OVERRIDE CUBLAS_EMULATE_SINGLE_PRECISION CUBLAS_WORKSPACE_CONFIG CUBLASLT_WORKSPACE_SIZE
    CUDNN_LOGINFO_DBG TORCH_ALLOW_TF32_CUBLAS_OVERRIDE PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF
    CUDA_LAUNCH_BLOCKING CUDA_DEVICE_MAX_CONNECTIONS HIPBLASLT_ALLOW_TF32 AMD_SERIALIZE_KERNEL
    ONEDNN_DEFAULT_FPMATH_MODE PYTORCH_MPS_FAST_MATH ATEN_CPU_CAPABILITY JAX_ENABLE_X64 XLA_FLAGS
    XLA_PYTHON_CLIENT_ALLOCATOR TF_GPU_ALLOCATOR TF_XLA_FLAGS LIBTPU_INIT_ARGS PJRT_NPROC NPROC
    JAX_COMPILATION_CACHE_DIR
"""
DEVICES = """
    CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES ZE_AFFINITY_MASK
    TPU_VISIBLE_CHIPS TPU_CHIPS_PER_PROCESS_BOUNDS
"""
# Names of machines, networks and folders.
UNTOLD = """
    TPU_NAME TPU_WORKER_HOSTNAMES TPU_PROCESS_ADDRESSES TPU_MESH_CONTROLLER_ADDRESS NCCL_HOSTID NCCL_SOCKET_IFNAME
    NCCL_COMM_ID GLOO_SOCKET_IFNAME HSA_TOOLS_LIB OMP_AFFINITY_FORMAT NVIDIA_VISIBLE_DEVICES_OF
    CUDA_MPS_PIPE_DIRECTORY JAX_COORDINATOR_ADDRESS KMP_ANYTHING CUDA_HOME TRITON_CACHE_DIR TPU_LIBRARY_PATH
"""


def each_is(value: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), value)


def test_of_a_foreign_environment_only_places_and_devices_reach_the_measuring_process() -> None:
    places = {"NUMBA_CACHE_DIR": "/cache", "TRITON_CACHE_DIR": "/home/anna", "LD_PRELOAD": "lib.so", "PATH": "/bin"}
    meant = each_is("1", DEVICES)
    found = child_environment(2, FOREIGN | each_is("1", f"{KEPT_OUT} EDITOR") | places | meant)
    assert found.items() >= (places | meant).items()
    assert not {*KEPT_OUT.split()} & {*found}
    assert found["VECLIB_MAXIMUM_THREADS"] == "2"  # another word than the others have
    assert "EDITOR" not in found
    assert {name: found[name] for name in FOREIGN if name in found} == {
        "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "NUMBA_NUM_THREADS": "2",
        "MKL_DYNAMIC": "FALSE", "LC_ALL": "POSIX",
    }  # fmt: skip


def test_a_record_tells_which_device_was_meant_and_no_name_of_a_machine_a_network_or_a_folder() -> None:
    meant = each_is("1", DEVICES) | {"OMP_NUM_THREADS": "1"}
    assert telling_environment(each_is("/home/anna-7:8476", UNTOLD) | meant) == meant


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("LD_PRELOAD", "/home/anna/lib/libx.so", "libx.so"),
        ("LD_PRELOAD", "/home/anna=b/libx.so:~anna/liby.so:libm.so.6", "libx.so:liby.so:libm.so.6"),
        ("DYLD_INSERT_LIBRARIES", "/Users/Anna B/libx.dylib:/liby.dylib", "libx.dylib:liby.dylib"),
        ("LD_PRELOAD", "anna/libx.so", "libx.so"),
        ("CUDA_VISIBLE_DEVICES", "MIG-GPU-1a/1/0,2", "MIG-GPU-1a/1/0,2"),
    ],
)  # fmt: skip
def test_of_files_with_their_folders_a_record_tells_the_names(name: str, value: str, told: str) -> None:
    assert telling_environment({name: value})[name] == told


def test_a_library_is_told_by_its_name_and_the_wheel_that_it_is_of() -> None:
    assert {library_name(path) for path in ("/home/anna/lib/libx.so", "anna/libx.so", "libx.so")} == {"libx.so"}
    assert library_name("/venv/site-packages/numpy.libs/libopenblas.so") == "numpy.libs/libopenblas.so"
