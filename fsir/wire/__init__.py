"""What goes over the wire: messages, their bytes, and which of them no honest device can send.

Pure.
"""
