"""The handwritten digits that ship with the package: a real data set for demonstrations and tests.

Credit: "Optical Recognition of Handwritten Digits", E. Alpaydin and C. Kaynak, UCI Machine Learning Repository, 1998,
CC BY 4.0. These are the 1,797 images of its test set, as scikit-learn carries them.
"""

from pathlib import Path

import numpy

import tensorgrad


def load_digits():
    """Return 1,797 handwritten digits: images (1797, 64) as float32 in 0..1, and labels (1797,) as int64.

    A row is an 8x8 image, read line by line. By E. Alpaydin and C. Kaynak (UCI Machine Learning Repository, CC BY 4.0).

    >>> from tensorgrad.data import load_digits
    >>> images, labels = load_digits()
    >>> tuple(images.shape), images.dtype, labels.dtype
    ((1797, 64), tensorgrad.float32, tensorgrad.int64)
    >>> labels[:10]
    tensor([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    with numpy.load(Path(__file__).with_name("digits.npz")) as file:
        pixels, labels = file["images"], file["labels"]
    images = pixels.reshape(len(pixels), 64).astype(numpy.float32) / numpy.float32(16)
    return tensorgrad.from_numpy(images), tensorgrad.from_numpy(labels.astype(numpy.int64))
