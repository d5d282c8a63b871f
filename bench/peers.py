"""Ours beside its peers, in paired runs: prints ratios, never absolute times. Nothing else may run meanwhile.

./run python bench/peers.py sparse      sparse-coding coefficients: every solver over our fastest, one and all cores
./run python bench/peers.py rbm         a training step of an RBM as a tutorial writes it in PyTorch and in NumPy, and
                                        scikit-learn's, over ours; every size of the paper, one and all cores
./run python bench/peers.py mlp         a training step of a multi-layer perceptron as a tutorial writes it in PyTorch
                                        and in NumPy, over ours; one and all cores
./run python bench/peers.py convnet     a step of ResNet-50, LeNet and a small net on digits as a tutorial writes them
                                        in PyTorch, over ours; one and all cores

SPAMS (GPL) is compared with if it is installed: uv pip install --python .venv/bin/python spams-bin
"""

import argparse

from convnet_peers import compare_convnet
from mlp_peers import compare_mlp
from paired import Comparison, compare
from rbm_peers import compare_rbm
from sparse_peers import compare_sparse

COMPARISONS: dict[str, Comparison] = {
    "sparse": compare_sparse,
    "rbm": compare_rbm,
    "mlp": compare_mlp,
    "convnet": compare_convnet,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("comparison", choices=COMPARISONS)
    parser.add_argument("--threads", type=int, help="compare in this process, which has the environment for it")
    options = parser.parse_args()
    compare(options.comparison, COMPARISONS, options.threads)


if __name__ == "__main__":
    main()
