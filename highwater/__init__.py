"""The front door: claims in TOML, the command line, reports and traces."""
