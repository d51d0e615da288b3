"""Importing costs nothing, and only the middleware needs the extra `agents`."""

import subprocess
import sys
import textwrap

import pytest

import langchain_ctx


def run(code):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_package_loads_no_framework():
    loaded = run(
        """
        import sys, langchain_ctx
        heavy = ("langchain_core", "langgraph", "langchain", "numpy", "onnxruntime", "tiktoken", "pydantic", "httpx")
        print([name for name in heavy if name in sys.modules])
        """
    )
    assert loaded == "[]"


def test_everything_but_the_middleware_works_without_langchain():
    run(
        """
        import sys
        sys.modules["langchain"] = None
        import langchain_ctx
        for name in langchain_ctx.__all__:
            if name != "ContextMiddleware":
                getattr(langchain_ctx, name)
        """
    )


def test_the_middleware_says_what_to_install():
    out = run(
        """
        import sys
        from importlib.abc import MetaPathFinder

        class Hidden(MetaPathFinder):
            def find_spec(self, name, path=None, target=None):
                if name == "langchain":
                    raise ModuleNotFoundError(name)

        sys.meta_path.insert(0, Hidden())
        import langchain_ctx
        try:
            langchain_ctx.ContextMiddleware
        except ImportError as error:
            print(type(error).__name__, error)
        """
    )
    assert out == "MissingExtra 'langchain' is not installed; run `pip install 'langchain-ctx[agents]'`"


def test_every_public_name_is_there_and_documented():
    assert langchain_ctx.__all__ == sorted(langchain_ctx.__all__)
    for name in langchain_ctx.__all__:
        assert getattr(langchain_ctx, name).__doc__
    assert set(langchain_ctx.__all__) <= set(dir(langchain_ctx))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        langchain_ctx.Nothing  # noqa: B018 - the access is what is tested
