"""The engine inside the agents of `langchain`, which the extra `agents` installs."""

from ctx_core.extras import require

require("langchain", extra="agents", distribution="langchain-ctx")
