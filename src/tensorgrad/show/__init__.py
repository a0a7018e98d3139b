"""Pictures of what happens: the graph behind a tensor, loss curves, progress. Nothing to install or fetch."""

from .curve import curve, sparkline
from .graph import graph
from .progress import progress

__all__ = ["curve", "graph", "progress", "sparkline"]
