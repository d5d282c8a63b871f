"""A training step of a convolutional net: forward, the gradient at the output, backward.

The nets are data (`_networks.py`), the mathematics of their layers stands in `_layers.py`.
"""

# `network` at `width` times its channels, on `batch` images of side x side pixels, with so many `classes`.
# `update`: "none" is forward and backward alone, from a drawn gradient of the output, and `learning_rate` is 0;
# "sgd" begins backward at the softmax loss of drawn labels, and ends with parameters -= learning_rate * gradients.
# `gradients`: whether backward also computes that of the images, of which training has no use.
PARAMETERS = {
    "network": (
        "alexnet",
        "vgg16",
        "vgg19",
        "resnet18",
        "resnet34",
        "resnet50",
        "resnet101",
        "resnet152",
        "lenet",
        "digits",
    ),
    "width": "real",
    "batch": "whole",
    "side": "whole",
    "classes": "whole",
    "update": ("none", "sgd"),
    "learning_rate": "real",
    "gradients": ("parameters", "parameters-and-images"),
}
TESTS = {
    "smoke": {
        "network": "lenet",
        "width": 1.0,
        "batch": 20,
        "side": 28,
        "classes": 10,
        "update": "sgd",
        "learning_rate": 0.1,
        "gradients": "parameters",
    },
    "odd": {
        "network": "resnet50",
        "width": 0.07,
        "batch": 5,
        "side": 53,
        "classes": 7,
        "update": "none",
        "learning_rate": 0.0,
        "gradients": "parameters",
    },
    "large": {
        "network": "vgg16",
        "width": 0.25,
        "batch": 3,
        "side": 64,
        "classes": 320,
        "update": "none",
        "learning_rate": 0.0,
        "gradients": "parameters",
    },
}
BACKENDS = ("torch",)
PRECISIONS = ("fp32", "tf32")
ALLOCATES = True
