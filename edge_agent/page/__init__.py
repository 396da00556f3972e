"""The owner's page: what the device knows, gives away and has given away, in a browser of the home.

The standard library's server shows it; it loads nothing from elsewhere and sends nothing out.
"""
