"""What windows keep: partial results and rows by pane, by extent, by session and by time. Each reports its bytes."""
