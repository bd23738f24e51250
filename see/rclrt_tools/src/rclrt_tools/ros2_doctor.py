# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What `ros2 doctor` says of real-time threads, where ros2doctor is installed.

Of what `rclrt doctor` finds it has what is to be mended, as warnings: ROS 2 itself works without.
"""

from ros2doctor.api import DoctorCheck, Result
from ros2doctor.api.format import doctor_warn

from rclrt_tools.commands.doctor import examine
from rclrt_tools.doctor import MEND, System, measure


class RealTimeCheck(DoctorCheck):  # type: ignore[misc]  # ros2doctor ships no types
    """What keeps real-time threads from running in time here."""

    def category(self) -> str:
        """Return the name in the list of what failed."""
        return "real-time"

    def check(self) -> Result:
        """Look at this machine."""
        result = Result()
        for finding in examine(System(), measure()):
            if finding.kind == MEND:
                costs = f" ({finding.costs})" if finding.costs else ""
                doctor_warn(f"{finding.what}{costs}. What mends it: ros2 rt doctor")
                result.add_warning()
        return result
