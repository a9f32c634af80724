"""The clocks of the GPU by NVML, read around the calls that are timed, as the program does: times are compared only where
the clocks were alike."""

import ctypes
import statistics

SM, MEMORY = 1, 2  # NVML_CLOCK_SM, NVML_CLOCK_MEM
NOT_FOUND = 6      # NVML_ERROR_NOT_FOUND


def is_elsewhere(uuid):
    """Whether NVML knows that no GPU here has this UUID."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        return nvml.nvmlInit_v2() == 0 and NOT_FOUND == nvml.nvmlDeviceGetHandleByUUID(
            uuid.encode(), ctypes.byref(ctypes.c_void_p()))
    except (OSError, AttributeError):
        return False


class Clocks:
    """Of the GPU with this UUID. Where they cannot be read, `failure` says why and there are no readings."""

    def __init__(self, uuid):
        self.failure = ""
        self._readings = []
        try:
            self._nvml = ctypes.CDLL("libnvidia-ml.so.1")
            self._device = ctypes.c_void_p()
            self._check(self._nvml.nvmlInit_v2())
            self._check(self._nvml.nvmlDeviceGetHandleByUUID((uuid or "").encode(), ctypes.byref(self._device)))
        except (OSError, AttributeError) as error:
            self.failure = f"the GPU's clocks cannot be read: {error}"

    @staticmethod
    def _check(status):
        if status != 0:
            raise OSError(f"NVML answered {status}")

    def _clock(self, kind):
        clock = ctypes.c_uint()
        self._check(self._nvml.nvmlDeviceGetClockInfo(self._device, kind, ctypes.byref(clock)))
        return clock.value

    def read(self):
        if not self.failure:
            try:
                self._readings.append((self._clock(SM), self._clock(MEMORY)))
            except OSError as error:
                self.failure = f"the GPU's clocks cannot be read: {error}"

    def take(self):
        """The medians of the readings since the last time, or the reason why there are none."""
        readings, self._readings = self._readings, []
        if self.failure or not readings:
            return {"clock_failure": self.failure or "the GPU's clocks were not read"}
        sm, memory = (statistics.median(reading[i] for reading in readings) for i in (0, 1))
        return {"sm_clock_mhz": sm, "memory_clock_mhz": memory}
