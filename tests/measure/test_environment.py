"""What of the shell's environment reaches a measurement, and its record."""

from respeed.machine.process import FIXED, INHERITED, NAMED, PREFIXES, THREADS, child_environment, telling_environment
from respeed.machine.software import library_name
from tests.measure.test_turn import FOREIGN

# Such as what the shell says of an accelerator's arithmetic and memory, and of where JAX keeps whole programs.
KEPT_OUT = {
    "NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION", "CUBLAS_WORKSPACE_CONFIG", "PYTORCH_CUDA_ALLOC_CONF",
    "CUDA_LAUNCH_BLOCKING", "ONEDNN_DEFAULT_FPMATH_MODE", "JAX_ENABLE_X64", "XLA_FLAGS", "NPROC",
    "JAX_COMPILATION_CACHE_DIR", "EDITOR",
}  # fmt: skip


def test_of_a_foreign_environment_only_places_and_devices_reach_the_measuring_process() -> None:
    kept = dict.fromkeys([*NAMED, *INHERITED, *(f"{prefix}ANY" for prefix in PREFIXES)], "anything")
    found = child_environment(2, dict.fromkeys(KEPT_OUT, "1") | FOREIGN | kept)
    assert found == {"LC_ALL": "POSIX"} | kept | dict.fromkeys(THREADS, "2") | FIXED
    assert not KEPT_OUT & {*found}


def test_a_record_tells_which_device_was_meant_and_no_name_of_a_machine_a_network_or_a_folder() -> None:
    meant = {"CUDA_VISIBLE_DEVICES": "MIG-GPU-1a/1/0,2", "TPU_VISIBLE_CHIPS": "1", "OMP_NUM_THREADS": "1"}
    untold = {"TPU_NAME", "TPU_WORKER_HOSTNAMES", "NCCL_SOCKET_IFNAME", "HSA_TOOLS_LIB", "CUDA_MPS_PIPE_DIRECTORY"}
    assert telling_environment(dict.fromkeys(untold | INHERITED, "/home/anna-7:8476") | meant) == meant


def test_of_files_with_their_folders_a_record_tells_the_names_and_the_wheel_of_a_library() -> None:
    preloaded = {
        "LD_PRELOAD": "/home/anna=b/libx.so:~anna/liby.so:libm.so.6",
        "DYLD_INSERT_LIBRARIES": "anna/libx.dylib",
    }
    assert {*telling_environment(preloaded).values()} == {"libx.so:liby.so:libm.so.6", "libx.dylib"}
    assert {library_name(path) for path in ("/home/anna/lib/libx.so", "anna/libx.so", "libx.so")} == {"libx.so"}
    assert library_name("/venv/site-packages/numpy.libs/libopenblas.so") == "numpy.libs/libopenblas.so"
