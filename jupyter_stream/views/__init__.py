"""Live views: ipywidgets and Bokeh. They know `core.snapshot` and nothing of the engine."""
