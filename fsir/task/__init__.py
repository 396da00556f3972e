"""What a task holds, and how it is checked field by field.

Pure; knows nothing of noise or messages.
"""
