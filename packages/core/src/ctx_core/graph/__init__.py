"""Graph: typed nodes and explained relations, rendered under a token budget."""
