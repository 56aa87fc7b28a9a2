"""Running passes: pipelines, the pass manager, instruments, reproducers, crashes."""
