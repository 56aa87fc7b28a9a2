"""Machine descriptions: one frozen dataclass, one TOML file per machine."""
