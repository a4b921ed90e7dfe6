"""Clusters, as in `scipy.cluster`: `vq`."""

from funcgrad.scipy.cluster import vq

__all__ = ["vq"]
