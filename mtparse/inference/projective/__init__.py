"""Trees without crossing arcs: Eisner's algorithms."""
