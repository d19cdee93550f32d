"""The files for operators name what there is: metrics, settings, mounted files."""

import json
import re
from pathlib import Path

import pytest
import yaml

from ocr_app.config_sources import ENV_NAMES
from ocr_app.errors import OutOfMemoryError
from ocr_app.service.metrics import Metrics
from ocr_app.service.records import JobState
from ocr_app.types import DeviceMemory, KVSample, PageResult, Telemetry, Verdict

ROOT = Path(__file__).parents[2]
OPS = ROOT / "assets" / "ops"


@pytest.fixture(scope="module")
def exported() -> str:
    """What Prometheus sees once everything has happened."""
    metrics = Metrics(lambda: dict.fromkeys(JobState, 0))
    metrics.page(PageResult(0, Verdict.OK))
    metrics.job_over(JobState.DONE)
    metrics.error(OutOfMemoryError())
    metrics.request("GET", 200, 0.1)
    device = DeviceMemory("GPU", 1, 2)
    metrics.telemetry(Telemetry(0.0, 0, KVSample(1, 1, 1, step_s=0.1), (device,), 1, 1, 1))
    return metrics.text().decode()


@pytest.mark.parametrize("name", ["alerts.yml", "dashboard.json", "OPERATIONS.md"])
def test_named_metrics_exist(name, exported):
    found = set(re.findall(r"\blongscribe_[a-z_]+(?=[^a-z_]|$)", (OPS / name).read_text()))
    known = set(re.findall(r"^(longscribe_[a-z_]+)", exported, re.MULTILINE))
    assert found <= known, found - known
    assert found or name == "OPERATIONS.md"


def test_named_settings_exist():
    for path in (OPS / "longscribe.service", ROOT / "compose.yaml", ROOT / "Dockerfile"):
        for name in re.findall(r"OCR_APP_[A-Z_]+", path.read_text()):
            assert name in ENV_NAMES, f"{path.name}: {name}"


def test_alerts_say_what_they_are_about():
    rules = yaml.safe_load((OPS / "alerts.yml").read_text())["groups"][0]["rules"]
    assert {"DeviceMemoryHigh", "PageSlow", "PagesFail", "OutOfMemory", "QueueLong"} <= {
        rule["alert"] for rule in rules
    }
    for rule in rules:
        assert rule["expr"]
        assert rule["annotations"]["summary"]


def test_compose_mounts_files_that_exist():
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    mounted = [volume.split(":")[0] for service in services.values() for volume in service.get("volumes", ())]
    files = [path for path in mounted if path.startswith("./")]
    assert len(files) == 5
    assert all((ROOT / path).is_file() for path in files)
    assert len(json.loads((OPS / "dashboard.json").read_text())["panels"]) == 12
