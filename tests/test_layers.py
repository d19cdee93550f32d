"""Imports inside ocr_app are absolute and point down the layer list; outside libraries have one home."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "ocr_app"
LAYERS = [
    {"errors"},
    {"types", "config"},
    {"document", "decoder", "telemetry", "config_sources"},
    {"models"},
    {"pipeline"},
    {"service", "ui", "bench", "training"},
    {"cli"},
    {"__init__", "__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
HOMES = {
    "gradio": {"ui"},
    "fastapi": {"service"},
    "starlette": {"service"},
    "uvicorn": {"service"},
    "sqlalchemy": {"service"},
    "prometheus_client": {"service"},
    "pynvml": {"telemetry"},
    "pymupdf": {"document", "training", "models"},
    "transformers": {"models", "bench"},
}


def imported_modules(tree: ast.AST, *, lazy: bool = False) -> Iterator[str]:
    """Dotted names imported when the file is imported; with `lazy`, those imported inside functions too."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield from [f"ocr_app.{a.name}" for a in node.names] if base == "ocr_app" else [base]
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names)
        elif lazy or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            pending.extend(ast.iter_child_nodes(node))


def modules() -> list[tuple[str, ast.AST]]:
    return [
        (str(path.relative_to(PACKAGE)), ast.parse(path.read_text()))
        for path in sorted(PACKAGE.rglob("*.py"))
    ]


def part_of(name: str) -> str:
    return Path(name).parts[0].removesuffix(".py")


@pytest.mark.parametrize(
    ("name", "tree"), modules(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_imports_point_down(name: str, tree: ast.AST):
    part = part_of(name)
    for module in imported_modules(tree):
        assert not module.startswith("."), f"{name}: relative import"
        if module.startswith("ocr_app."):
            target = module.split(".")[1]
            is_version = target == "__version__"
            assert is_version or target == part or LEVEL[target] < LEVEL[part], f"{name}: imports {module}"


@pytest.mark.parametrize(
    ("name", "tree"), modules(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_outside_libraries_stay_at_home(name: str, tree: ast.AST):
    for module in imported_modules(tree, lazy=True):
        homes = HOMES.get(module.split(".")[0])
        assert homes is None or part_of(name) in homes, f"{name}: imports {module}"


def test_help_loads_no_heavy_library():
    code = (
        "import sys; sys.argv = ['ocr_app', '--help']\n"
        "import runpy\n"
        "try:\n    runpy.run_module('ocr_app', run_name='__main__')\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'gradio', 'pymupdf', 'cv2', 'onnxruntime', 'numpy', 'plotly'}\n"
        "heavy |= {'fastapi', 'sqlalchemy', 'httpx', 'uvicorn', 'pydantic'}\n"
        "heavy &= set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parent)
    assert result.returncode == 0, result.stderr
