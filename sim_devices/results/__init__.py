"""What a person sees of a run: text, picture, page, progress."""
