"""The rendered site: what stands around the pages."""
