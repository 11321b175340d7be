"""Large things in a bucket of S3."""

from palimpsest.engines.s3.blobs import S3Blobs

__all__ = ["S3Blobs"]
