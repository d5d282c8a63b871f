"""What a CUDA or ROCm device ran for a step, by torch's profiler."""

from collections.abc import Callable

from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from respeed.backends import Span
from respeed.workloads import Step


def trace_step(step: Step, sync: Callable[[], None]) -> list[Span]:
    """Run a step under the profiler, and return what the device ran."""
    step()  # the first one after a build may load code
    sync()
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        step()
        sync()
    spans: list[Span] = []
    for event in profiled.events():
        if event.device_type == DeviceType.CUDA:
            times = event.time_range  # in microseconds
            spans.append((event.name, round(1000 * times.start), round(1000 * times.end)))
    return spans
