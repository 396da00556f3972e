"""The live page of `serve`: how the federation grows, in a browser, without reloading."""
