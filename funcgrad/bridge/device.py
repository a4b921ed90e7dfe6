"""Devices: where an array's memory is and its programs run. At present one: the CPU of this process."""

from typing import Any

from funcgrad.core.errors import UsageError, message


class Device:
    """A place with memory that runs programs. `platform` is "cpu"; `id` numbers the devices of a platform.

    >>> device = fg.devices()[0]
    >>> isinstance(device, fg.Device), device.platform, str(device)
    (True, 'cpu', 'cpu:0')
    """

    __slots__ = ("platform", "id", "process_index", "device_kind")

    def __init__(self, platform: str, number: int):
        self.platform, self.id = platform, number
        self.process_index = 0
        self.device_kind = platform

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.platform}:{self.id})"

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"

    def __reduce__(self) -> tuple:
        return find_device, (str(self),)


CPU = Device("cpu", 0)


def find_device(device: Any) -> Device:
    """The device that `device` (a Device, its name, an index, or None for the default) stands for."""
    if device is None or isinstance(device, Device):
        return CPU if device is None else device
    name = str(device).lower()
    if name in ("cpu", "cpu:0", "0"):
        return CPU
    raise UsageError(message(f"device: got {device!r}", "cpu (also written cpu:0)", "leave the argument out, or fg.devices()[0]"))
