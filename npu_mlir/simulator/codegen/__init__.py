"""A kernel as one Python function, put together by sinks: each writes the code for one purpose."""
