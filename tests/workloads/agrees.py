"""How far a first step is from float64."""

from respeed.backends import BackendContract
from respeed.measure.case import state_errors
from respeed.model.paper import Case
from respeed.workloads import load_workload


def largest_error(backend: BackendContract, case: Case) -> float:
    workload = load_workload(case.workload)
    inputs = workload.inputs(case, seed=5)
    program = workload.build(backend, case, inputs)
    program.step()
    backend.sync()
    state = dict(program.state())
    return max(state_errors(inputs, state, workload.reference(case, inputs, state)).values())
