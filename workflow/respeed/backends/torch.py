"""PyTorch: MKL on x86 CPUs, Accelerate on Macs, cuBLAS on CUDA, and torch's own choice on ROCm, XPU and MPS.

In bf16 and fp16, matrix products have operands of low precision, but learned arrays stay in fp32, because a small
change to a large weight is lost in a format of 8 or 11 significant bits. The products read a rounded copy of a learned
array, which each step makes anew within its timed part, and sum in fp32. Gradients need no scaling: each is a sum of at
most a few hundred products of probabilities, within fp16's range. The practice is that of Micikevicius et al., Mixed
precision training, ICLR 2018.
"""

import contextlib
import os
import re
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.overrides import TorchFunctionMode

from respeed import kernels
from respeed.backends import Backend as Base
from respeed.backends import Span, first_cause
from respeed.backends._cpu import OnCpu
from respeed.backends._cuda import Graphs
from respeed.errors import NotMeasurable, UserError, is_of_the_disk
from respeed.kernels import layers
from respeed.machine.devices import NAMES, accelerator_driver, split_device, too_high
from respeed.machine.process import Facts
from respeed.machine.software import package_versions
from respeed.paths import private_folder, read_kept, write_json
from respeed.text import first_line
from respeed.workloads import Step
from respeed.workloads.arrays import Drawn, Zeros

DEVICES = ("cpu", "cuda", "xpu", "mps")
PRECISIONS = ("fp64", "fp32", "tf32", "bf16", "fp16")

# For the gradient of a 5x5 kernel cuDNN has Winograd's algorithm on 13x13 numbers, F(5x5, 9x9). In fp32, on an H200 by
# cuDNN 9.19, it was off by 5.2e-4 to 1.9e-3 where everything else was by at most 1.6e-5. No option of torch leaves it
# out. Three times the worst is allowed.
BY_WINOGRAD = ("Conv2d 5x5 weight gradients", "Conv2d 5x5 weight changes")
WINOGRAD_ERROR = 6e-3
# The matrix products of steps.
PRODUCTS = {torch.mm, torch.addmm, torch.bmm, torch.baddbmm, torch.matmul, Tensor.matmul, Tensor.__matmul__}
# The types of arrays, where these are not fp32.
TYPES = {"fp64": torch.float64, "bf16": torch.bfloat16, "fp16": torch.float16}


Pair = tuple[Tensor, Tensor] | None


class Torch(Base):
    """Torch in a precision: the methods that are the same on all devices."""

    framework = "torch"
    library = torch
    # Whether products in low precision can add their sums to fp32.
    _adds_itself = True
    # Fills an array with draws from [0, 1), and returns it.
    uniform: Callable[[Tensor], Tensor]
    # The state of the draws of Triton's kernels, where steps use these.
    _philox: Tensor

    def __init__(self, precision: str, threads: int, device: str = "cpu") -> None:
        super().__init__(precision, threads)
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        # Strict fp32 unless asked for: no TF32 on CUDA, no bf16 in oneDNN. Of the devices only CUDA knows "high", TF32.
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
        # Sums stay in fp32 also where a product is split along k and its parts are added up.
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        self.device = torch.device(device)
        self.dtype = TYPES.get(precision, torch.float32)
        self._low = self.dtype.itemsize < 4
        # The type of learned arrays, and of draws.
        self._wide = torch.promote_types(self.dtype, torch.float32)
        self._adds_itself = self._low and self._can_add()
        # Learned arrays have a copy, and perhaps an array to add from.
        if self._low:
            self.memory_factor = 1.5 if self._adds_itself else 3.0

    def array(self, values: ArrayLike, *, exact: bool = False) -> Tensor:
        """Return `values` on the device in the row's precision; if `exact`, in fp32 at least; integers as int64."""
        dtype = self._wide if exact else self.dtype
        if isinstance(values, Zeros):  # made there; full, not zeros: pages are touched here, not by the first step
            tensor = torch.full(values.shape, 0.0, dtype=dtype, device=self.device)
        else:
            array = np.asarray(values)
            if array.dtype.kind in "iu":
                return torch.tensor(array, dtype=torch.int64, device=self.device)
            on_host = torch.from_numpy(np.ascontiguousarray(array, dtype=self.host_dtype))
            tensor = on_host.to(self.device, dtype, copy=not isinstance(values, Drawn))
        if exact and self._low:
            tensor.low = tensor.to(self.dtype)  # what products read
        return tensor

    def write(self, values: Any, out: Tensor) -> None:
        """Copy `values`, an array of the host or one float for all elements, into `out`."""
        if isinstance(values, float):  # there: as a copy it would first be as large on the host
            out.fill_(values)
        else:
            out.copy_(torch.from_numpy(np.ascontiguousarray(values)))

    def host(self, array: Any) -> Any:
        """Return a tensor as a NumPy array, low precisions as fp32; return anything else unchanged."""
        return to_numpy(array) if isinstance(array, Tensor) else array

    def operands(self, *parameters: Tensor) -> Any:
        """Return learned arrays as operands of matrix products: rounded copies in low precision, else unchanged."""
        return [array.low.copy_(array) for array in parameters] if self._low else parameters

    def add_product(self, out: Tensor, a: Tensor, b: Tensor, alpha: float = 1.0, beta: float = 1.0) -> None:
        """Compute out <- beta out + alpha a b for matrices or stacks of matrices; an `out` in fp32 stays in fp32."""
        add = torch.addmm if out.dim() == 2 else torch.baddbmm
        if not self._low or out.dtype == a.dtype:
            add(out, a, b, beta=beta, alpha=alpha, out=out)
        elif self._adds_itself:
            add(out, a, b, out_dtype=torch.float32, beta=beta, alpha=alpha, out=out)
        else:  # the product rounds its sums when it writes them; they are multiplied and added in fp32
            out.mul_(beta).add_(a @ b, alpha=alpha)

    def add_rows(self, out: Tensor, rows: Tensor, signs: Tensor, alpha: float) -> None:
        """Add alpha times the sum of `rows`, each with its sign; a stack has a sum for each of its matrices."""
        shape = *rows.shape[:-2], 1, -1
        self.add_product(out.view(shape), signs.expand(shape), rows, alpha=alpha)

    def units(
        self, bias: Tensor, x: Tensor, W: Tensor, *, out: Tensor, alpha: float = 1.0,
        sampled: Pair = None, negated: Pair = None,
    ) -> None:  # fmt: skip
        """Compute out <- sigmoid(alpha x W + bias), for matrices or stacks; see `Row.units`."""
        if not self.fused:
            add = torch.addmm if out.dim() == 2 else torch.baddbmm
            add(bias, x, W, alpha=alpha, out=out).sigmoid_()
            if sampled:
                torch.lt(self.uniform(sampled[0]), out, out=sampled[1])
            if negated:
                torch.neg(negated[0], out=negated[1])
            return
        (torch.mm if out.dim() == 2 else torch.bmm)(x, W, out=out)
        from respeed.kernels import fused

        fused.units(out, bias, alpha, self._philox, sampled, negated)

    def affine(self, bias: Tensor, x: Tensor, W: Tensor, *, out: Tensor, activation: str = "") -> None:
        """Compute out <- f(x W + bias); see `Row.affine`."""
        if activation == "tanh" and self.in_pieces:  # torch's own takes seven times as long
            layers.add_tanh(torch.mm(x, W, out=out).numpy(), bias.numpy())
            return
        torch.addmm(bias, x, W, out=out)
        if activation:
            getattr(torch, f"{activation}_")(out)

    def times_slope(self, error: Tensor, out: Tensor, activation: str) -> None:
        """Compute error <- error f'(z), where out = f(z)."""
        getattr(torch.ops.aten, f"{activation}_backward").grad_input(error, out, grad_input=error)

    def softmax_error(self, out: Tensor, z: Tensor, y: Tensor, costs: Tensor) -> None:
        """Compute out <- softmax(z) - onehot(y) and costs <- -log softmax(z) at y; y and costs (B, 1).

        In low precision a probability near 1 would lose its distance to 1: all is computed in fp32. Rows are short: on
        a CPU torch's own operations take several times as long as one compiled pass, which is used except there.
        """
        if self.in_pieces:
            layers.softmax_error(out.numpy(), z.numpy(), y.numpy()[:, 0], costs.numpy()[:, 0])
            return
        wide = torch.empty_like(out, dtype=torch.float32) if self._low else out
        torch.log_softmax(z, 1, dtype=wide.dtype, out=wide)
        costs.copy_(wide.gather(1, y)).neg_()
        wide.exp_().scatter_(1, y, -1.0, reduce="add")
        if self._low:
            out.copy_(wide)

    def sigmoid_error(self, out: Tensor, x: Tensor, costs: Tensor) -> None:
        """Compute out <- x - sigmoid(z) for the logits z in `out`, and their cross-entropies; see `Row`."""
        if self.in_pieces:  # torch's own logarithms take several times as long
            layers.sigmoid_error(out.numpy(), x.numpy(), costs.numpy())
            return
        # log(1 + exp z) - x z stays exact where a probability is almost 1.
        losses = torch.nn.functional.softplus(out, threshold=40).addcmul_(x, out, value=-1.0)
        torch.sum(losses, 1, out=costs)
        torch.sub(x, out.sigmoid_(), out=out)

    def mask(self, out: Tensor, x: Tensor, draws: Tensor, share: float) -> None:
        """Draw anew, and compute out <- x where draws are at least `share`, else 0."""
        torch.ge(self.uniform(draws), share, out=out).mul_(x)

    def fuse(self, seed: int) -> None:
        """Compute what lies between two products in one pass of a Triton kernel from now on, and draw there."""
        self.fused = True
        self._philox = torch.tensor([seed, 0, 0], device=self.device)

    def _can_add(self) -> bool:
        """Return whether low-precision matrix products can add to an fp32 array, as with a new torch on CUDA."""
        factor = torch.zeros(2, 16, 16, dtype=self.dtype, device=self.device)
        out = factor.float()
        try:
            self.add_product(out[0], factor[0], factor[0])
            self.add_product(out, factor, factor)
        except (RuntimeError, TypeError) as error:  # an operator that is not there is a RuntimeError, too
            if is_out_of_memory(error):  # it does not show that the operator is missing
                raise
            return False
        return True

    def describe(self) -> Facts:
        """Return the facts about torch for a record."""
        return {
            "package": f"torch {torch.__version__}",
            "library": "torch",
            "threads_set": torch.get_num_threads(),
        }


def to_numpy(tensor: Tensor) -> Any:
    """Return a tensor as a NumPy array, low precisions as fp32."""
    tensor = tensor.detach().cpu()
    return (tensor if tensor.dtype.itemsize >= 4 else tensor.float()).numpy()


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether the error means that memory ran out: torch's own error, or that of a device's library."""
    return isinstance(error, torch.OutOfMemoryError) or bool(re.search("out of memory|ALLOC_FAILED", str(error)))


class TorchOnCpu(OnCpu, Torch):
    """Torch on a CPU. On Linux, the compiled passes use the threads of torch's own pool."""

    # Right after a product on all cores, one core alone was seen to take five times as long over its result as after a
    # product of its own.
    few = 2**14

    def __init__(self, precision: str, threads: int, seed: int) -> None:
        super().__init__(precision, threads, seed)
        # Torch copies stacks that are slices of larger ones before a product of low precision.
        self.in_pieces = not self._low
        self.has_stacks = self.in_pieces

    def set_threads(self, threads: int) -> None:
        """Set how many threads an operation of torch uses."""
        torch.set_num_threads(threads)

    @contextlib.contextmanager
    def marked(self, at_mark: Step) -> Iterator[None]:
        """Return a context in which steps call `at_mark` before matrix products while no thread works."""
        with super().marked(at_mark), _Marked():
            yield

    def begin_thread(self) -> None:
        """Set up the calling thread to work alone: it uses one core, and records no gradients."""
        super().begin_thread()
        torch.set_grad_enabled(False)

    def describe(self) -> Facts:
        """Return the facts about torch on a CPU for a record, with the library of its matrix products."""
        one_dnn = "oneDNN" if torch.backends.mkldnn.is_available() else "torch's own BLAS"
        return {
            **super().describe(),
            "library": one_dnn if self._low else _blas_of_torch(),
            "kernel": torch.backends.cpu.get_cpu_capability(),
        }


class _Marked(TorchFunctionMode):  # type: ignore[misc]
    """Calls `kernels.AT_MARK` before matrix products; other threads than the one that entered it do not."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if kernels.AT_MARK and func in PRODUCTS:
            kernels.AT_MARK()
        return func(*args, **kwargs or {})


def _blas_of_torch() -> str:
    """Return the BLAS that torch was built with: MKL on x86, Accelerate on Macs, OpenBLAS on ARM servers."""
    names = {"mkl": "MKL", "accelerate": "Accelerate", "open": "OpenBLAS"}
    built_with = torch.__config__.show()
    for key, name in names.items():
        if f"BLAS_INFO={key}" in built_with:
            return name
    return "torch's own BLAS"


class OnAccelerator(Torch):
    """Torch on a device that works while the host continues: the host launches operations and does not wait."""

    synchronous = False

    def __init__(self, device: str, precision: str, threads: int, seed: int) -> None:
        kind, index = split_device(device)
        self._of = getattr(torch, kind)
        if reason := missing(kind, index):
            raise NotMeasurable(reason)
        if index is not None:
            # Whatever names no device, such as pinned memory and the libraries' handles, uses the current one.
            self._of.set_device(index)
        if reason := why_not(kind, precision):
            raise NotMeasurable(reason)
        super().__init__(precision, threads, device)
        self.unified = kind == "mps"
        self._random = torch.Generator(self.device).manual_seed(seed)

    def uniform(self, out: Tensor) -> Tensor:
        """Fill `out` with random numbers in [0, 1) from the row's own generator, and return it."""
        return out.uniform_(generator=self._random)

    def bytes_free(self) -> float | None:
        """Return how many bytes of the device's memory are free for arrays."""
        device = self.device
        of = self._of
        if device.type == "mps":  # the host's memory, of which Metal lets a program have a part
            return float(max(0, of.recommended_max_memory() - of.current_allocated_memory()))
        try:
            never_held = of.mem_get_info(device)[0]
        except RuntimeError:  # some of Intel's devices do not report it; they are this program's alone
            never_held = of.get_device_properties(device).total_memory - of.memory_reserved(device)
        # Memory that torch holds and no array uses is free for the next array.
        return float(never_held + of.memory_reserved(device) - of.memory_allocated(device))

    def sync(self) -> None:
        """Return when all operations on all streams of the current device, which is the row's, are done."""
        self._of.synchronize()

    def describe(self) -> Facts:
        """Return the facts about torch on an accelerator for a record."""
        name = getattr(self._of, "get_device_name", lambda device: device.type)(self.device)
        return {**super().describe(), "accelerator": name, "graphs": "no: this device has no graphs"}


class OnCuda(OnAccelerator):
    """Run torch on NVIDIA's GPUs, and on AMD's, which torch also calls "cuda". Steps run as graphs."""

    has_profiler = True
    graphs = True

    def __init__(self, device: str, precision: str, threads: int, seed: int) -> None:
        super().__init__(device, precision, threads, seed)
        self.unified = bool(torch.cuda.get_device_properties(self.device).is_integrated)
        # Convolutions: cuDNN would use TF32 unless told otherwise, and guess which algorithm is the fastest.
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.benchmark = True
        if precision == "fp32":
            self.looser = dict.fromkeys(BY_WINOGRAD, WINOGRAD_ERROR)
        # A warning in every process, by autograd's backward thread when it creates its context.
        warnings.filterwarnings("ignore", "Attempting to run cuBLAS")
        self.cache_bytes = torch.cuda.get_device_properties(self.device).L2_cache_size or None
        self._graphs = Graphs(self.device, self.dtype, self._random)
        self._why_no_graphs = self._graphs.why_plain()
        self._elementwise = self._compile()
        if self._elementwise == "triton":
            self.fuse(seed)

    def _compile(self) -> str:
        """Compile the Triton kernels, for arrays in fp32 on NVIDIA's GPUs.

        Returns "triton", or "torch" where torch computes instead, followed by the reason if the kernels failed.
        """
        if torch.version.hip or self.dtype != torch.float32:
            return "torch"
        # Kernels that were compiled before are loaded, from a folder that no other user could have put anything into.
        folder = private_folder("triton")
        os.environ["TRITON_CACHE_DIR"] = str(folder)
        # A compile that failed may take minutes to fail again: it is tried in no other process until something changes.
        compilers = [os.environ.get("CC"), shutil.which("gcc"), shutil.which("clang")]
        device = torch.cuda.get_device_name(self.device)
        facts = [torch.__version__, package_versions(), accelerator_driver(), device, compilers]
        failed = folder / "failed.json"
        former = read_kept(failed)
        if former.get("facts") == facts and former.get("reason"):
            return str(former["reason"])
        try:
            from respeed.kernels.fused import compile_for

            compile_for(self.device)
        except Exception as error:  # no Triton, no C compiler, a GPU that it does not know
            # A lack of memory or a full disk says nothing about the kernels, but would make rounds differ.
            if is_of_the_disk(error) or isinstance(error, MemoryError) or is_out_of_memory(error):
                raise
            reason = f"torch: {first_line(error)[:200]}"
            with contextlib.suppress(UserError):
                write_json(failed, {"facts": facts, "reason": reason})
            return reason
        return "triton"

    def captured(self, step: Step, *, by_autograd: bool = False, undo: Step | None = None) -> Step:
        """Return the step as a graph, or the step itself if it cannot be captured; `why_plain` returns the reason."""
        return self._graphs.captured(step, by_autograd=by_autograd, undo=undo)

    def busy(self) -> bool:
        """Return, without waiting, whether the device's current stream still has work."""
        return not torch.cuda.current_stream(self.device).query()

    def trace(self, step: Step) -> list[Span]:
        """Run a step under torch's profiler, and return what the device ran."""
        from respeed.backends._trace import trace_step

        return trace_step(step, self.sync)

    def why_plain(self) -> str | None:
        """Return why steps could not be captured since this was last called; None if all were captured."""
        return self._graphs.why_plain()

    def rehearsals(self) -> Sequence[AbstractContextManager[None]]:
        """Return two contexts: tiny programs run operation by operation in the first, and as graphs in the second."""
        # Plain steps first: a capture is no place to load kernels or to choose algorithms in.
        return (self._graphs.none(), nullcontext())

    def bytes_free(self) -> float | None:
        """Return the bytes of the device's memory free for arrays, without what graphs and matrix products need.

        Returns None if arrays lie in the host's memory: the driver counts what the kernel keeps of files as used.
        """
        free = super().bytes_free()
        if free is None or self.unified:
            return None
        free -= self._graphs.bytes_kept() + self._graphs.workspace_bytes
        return max(0.0, free)

    def describe(self) -> Facts:
        """Return the facts about torch on a GPU for a record, such as whether Triton's kernels and graphs are used."""
        properties = torch.cuda.get_device_properties(self.device)
        cuda = torch.version.cuda
        return {
            **super().describe(),
            "library": f"cuBLAS (CUDA {cuda})" if cuda else f"hipBLAS ({torch.version.hip})",
            "elementwise": self._elementwise,
            "graphs": f"no: {self._why_no_graphs}" if self._why_no_graphs else "yes",
            "multiprocessors": properties.multi_processor_count,
            # Its address, by which the driver knows it.
            "pci": f"{properties.pci_domain_id:08x}:{properties.pci_bus_id:02x}:{properties.pci_device_id:02x}.0",
        }


def missing(kind: str, index: int | None) -> str | None:
    """Return why torch cannot use such a device, with the error that it raises on trying; None if it can."""
    of = getattr(torch, kind)
    # Versions differ in whether torch.mps says so itself.
    if (torch.backends.mps if kind == "mps" else of).is_available():
        return too_high(kind, index or 0, 1 if kind == "mps" else of.device_count())
    reason = f"no {NAMES[kind]} device that torch {torch.__version__} can use"
    try:
        of.init()
    except Exception as error:  # of the driver, the runtime or torch
        return f"{reason}: {first_line(first_cause(error))}"
    return reason


def why_not(kind: str, precision: str) -> str | None:
    """Return why torch cannot compute in the precision on the current device of the kind; None if it can."""
    of = getattr(torch, kind)
    has = True
    # Whether AMD's libraries use TF32 depends on their own environment: the row could be fp32 under another name.
    if precision == "tf32" and (kind != "cuda" or torch.version.hip or not of.is_tf32_supported()):
        return "TF32 needs an NVIDIA GPU of 2020 or later"
    if precision == "bf16" and kind != "mps":
        has = of.is_bf16_supported(including_emulation=False)
    if precision == "fp64" and kind != "cuda":
        has = kind == "xpu" and of.get_device_properties().has_fp64
    return None if has else f"this {NAMES[kind]} device has no {precision}"


def Backend(*, device: str, precision: str, threads: int, seed: int) -> Torch:  # noqa: N802, as every backend's
    """Return torch on the device; raise NotMeasurable if the device is missing, or does not have the precision."""
    if device != "cpu":
        return (OnCuda if device.startswith("cuda") else OnAccelerator)(device, precision, threads, seed)
    if precision == "tf32":
        raise NotMeasurable("TF32 is a precision of GPUs")
    return TorchOnCpu(precision, threads, seed)
