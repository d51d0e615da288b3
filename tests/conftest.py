"""Settings that every test shares."""

import os

from hypothesis import HealthCheck, settings

# A law must hold for any input: CI looks longer than a developer wants to wait.
settings.register_profile("dev", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "ci", max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
