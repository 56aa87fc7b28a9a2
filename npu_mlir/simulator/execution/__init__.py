"""What instructions compute."""
