"""What a doctored driver says is what torch and NVML tell: too old, no image of a kernel, queries that fail."""

import json
import os
import subprocess
import sys

import pytest

from tests.pretended_gpu.driver import FUNCTION_NOT_FOUND, NOT_SUPPORTED, T4, TOO_OLD, V100, Driver

pytestmark = pytest.mark.usefixtures("pretended")

PRODUCT = """
import torch
try:
    print((torch.ones(3, 3, device="cuda") @ torch.ones(3, 3, device="cuda")).sum().item())
except RuntimeError as error:
    print(error)
"""
QUERIES = """
import json, os, pynvml
pynvml.nvmlInit()
device = pynvml.nvmlDeviceGetHandleByIndex(0)
def told(query):
    try:
        return getattr(pynvml, query)(device)
    except pynvml.NVMLError as error:
        return type(error).__name__
names = ["nvmlDeviceGetPowerUsage", "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetCurrentClocksEventReasons"]
print(json.dumps([pynvml.nvmlSystemGetCudaDriverVersion(), pynvml.nvmlDeviceGetName(device), *map(told, names)]))
os.environ["PRETENDED_NVML"] = "nvmlDeviceGetPowerUsage=7"
print(told(names[0]))
"""


def said_by(driver: Driver, program: str) -> str:
    environment = {**os.environ, **driver.environment()}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, text=True, capture_output=True, check=False).stdout


@pytest.mark.parametrize(
    ("driver", "told"),
    [
        (TOO_OLD, "driver on your system is too old (found version 12040)"),
        (V100, "no kernel image is available for execution on the device"),
        pytest.param(T4, "27.0", marks=pytest.mark.slow),
    ],
    ids=["too old", "no image", "well"],
)
def test_torch_fails_on_a_driver_or_device_that_it_is_not_built_for_as_on_a_real_one(driver: Driver, told: str) -> None:
    assert told in said_by(driver, PRODUCT)


def test_each_query_of_nvml_fails_alone_and_tells_what_was_set() -> None:
    driver = Driver(
        name="Pretended L4",
        tells={"nvmlDeviceGetCurrentClocksEventReasons": 4},
        fails={"nvmlDeviceGetPowerUsage": NOT_SUPPORTED, "nvmlDeviceGetMemoryInfo": FUNCTION_NOT_FOUND},
    )
    first, changed = said_by(driver, QUERIES).splitlines()
    told = [13000, "Pretended L4", "NVMLError_NotSupported", "NVMLError_FunctionNotFound", 4]
    assert json.loads(first) == told
    assert changed == "7"
