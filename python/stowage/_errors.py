# SPDX-License-Identifier: Apache-2.0
"""The exceptions of Stowage."""

import enum


class ErrorCode(enum.IntEnum):
    """What kind of thing went wrong; the exit code of the command line."""

    CHECK_FAILED = 1
    USAGE = 2
    BAD_INPUT = 3
    UNSUPPORTED = 4
    DEVICE = 5
    LIMIT = 6
    INTERNAL = 7


class Error(Exception):
    """What every function of Stowage throws: one sentence, and the trail of what was being done.

    Parameters
    ----------
    sentence : str
        What went wrong, where, and what would be right.
    trail : str
        What was being done, innermost first, such as ``node 'prob' (Softmax) < importing m.onnx``;
        empty without context.

    Examples
    --------
    >>> import stowage
    >>> try:
    ...     stowage.load("missing.onnx")
    ... except stowage.Error as e:
    ...     print(e.code.name, isinstance(e, stowage.BadInputError))
    BAD_INPUT True
    """

    code = ErrorCode.INTERNAL

    def __init__(self, sentence: str, trail: str = "") -> None:
        super().__init__(sentence, trail)
        self.sentence = sentence
        self.trail = trail

    def __str__(self) -> str:
        return f"{self.sentence} [{self.trail}]" if self.trail else self.sentence


class CheckFailedError(Error):
    """A comparison did not hold."""

    code = ErrorCode.CHECK_FAILED


class UsageError(Error, ValueError):
    """The caller asked for something that does not make sense."""

    code = ErrorCode.USAGE


class BadInputError(Error, ValueError):
    """A file or an input is missing, malformed or of the wrong shape."""

    code = ErrorCode.BAD_INPUT


class UnsupportedError(Error, NotImplementedError):
    """Valid, but Stowage cannot do it."""

    code = ErrorCode.UNSUPPORTED


class DeviceError(Error, RuntimeError):
    """A device or its driver failed."""

    code = ErrorCode.DEVICE


class LimitError(Error, MemoryError):
    """A size limit or the memory is exceeded."""

    code = ErrorCode.LIMIT


class InternalError(Error, RuntimeError):
    """A bug in Stowage."""

    code = ErrorCode.INTERNAL


_CLASSES = {
    c.code: c
    for c in (
        CheckFailedError,
        UsageError,
        BadInputError,
        UnsupportedError,
        DeviceError,
        LimitError,
        InternalError,
    )
}


def class_of(code: int) -> type[Error]:
    """The exception of a code of C++."""
    return _CLASSES[ErrorCode(code)]
