"""What users import is there, is sorted, and costs next to nothing to import."""

import subprocess
import sys

import pytest

PACKAGES = ["ctx_core", "langchain_ctx", "llamaindex_ctx"]
HEAVY = {
    "ctx_core": "langchain_core llama_index numpy onnxruntime tiktoken httpx requests pydantic boto3 redis neo4j nats magika".split(),
    "langchain_ctx": "langchain langgraph llama_index numpy onnxruntime tiktoken".split(),
    "llamaindex_ctx": "llama_index langchain_core numpy onnxruntime tiktoken".split(),
}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_exported_name_resolves(package):
    module = __import__(package)
    for name in module.__all__:
        assert getattr(module, name) is not None
    assert set(module.__all__) <= set(dir(module))


@pytest.mark.parametrize("package", PACKAGES)
def test_an_unknown_name_is_an_attribute_error(package):
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = __import__(package).Nothing


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_a_package_loads_nothing_heavy(package):
    code = f"import sys, {package}; print(' '.join(sorted({{m.split('.')[0] for m in sys.modules}})))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not set(loaded) & set(HEAVY[package])
