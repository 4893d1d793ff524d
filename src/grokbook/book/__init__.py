"""The machinery around the pages: executed, verified, indexed. No page imports it."""
