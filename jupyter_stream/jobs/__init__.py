"""Jobs: the text of a file or of a notebook's cells, run without a notebook: `jupyter-stream run FILE`."""
