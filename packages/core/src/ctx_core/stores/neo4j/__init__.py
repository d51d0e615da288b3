"""Neo4j: the graph of the read model."""

from ctx_core.extras import require

require("neo4j", extra="neo4j")
