"""Where experiments run: nodes, the links between them, and their servers."""
