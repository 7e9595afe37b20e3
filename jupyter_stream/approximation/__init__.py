"""What queries give up when memory or time run short, and only then (stream-manager §5.2); each way to do it is one file."""
